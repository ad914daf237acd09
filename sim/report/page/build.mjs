// Bundles the page into one HTML file: node build.mjs OUT.html (in a folder where npm ci has run).
import { readFile, writeFile } from "node:fs/promises";
import { build } from "esbuild";

const out = process.argv[2];
const bundle = await build({
  entryPoints: ["src/main.ts"],
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2020",
  write: false,
  outdir: "bundle",
  logLevel: "warning",
});
const text = (end) => bundle.outputFiles.find((file) => file.path.endsWith(end)).text.trim();
// A script or style ends at its closing tag, wherever that stands.
const script = text(".js").replaceAll("</script", "<\\/script");
const style = text(".css").replaceAll("</style", "<\\/style");
const licence = (await readFile("node_modules/uplot/LICENSE", "utf8")).replaceAll("--", "- -");
let page = await readFile("template.html", "utf8");
for (const [place, value] of [["/*STYLE*/", style], ["/*SCRIPT*/", script],
                              ["UPLOT_LICENCE", licence.trim()]]) {
  if (!page.includes(place)) throw new Error(`template.html has no ${place}`);
  page = page.replace(place, () => value);
}
await writeFile(out, page);
