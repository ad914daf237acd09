// Opens reports in headless Chromium as a reader would: node report_browser_test.mjs HEADWAY CHROMIUM WORK
// [PICTURES]. No message on the console, no request beside the file itself, every chart drawn, nothing
// wider than the window, dark and light, tables, keyboard, download. With PICTURES, pages are kept as PNG.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";

const [headway, chromium, work, pictures] = process.argv.slice(2);
const kPatience = 120_000; // ms; a busy machine is no fault of the page
let failures = 0;
function check(condition, text) {
  if (condition) return;
  ++failures;
  console.error(`FAILED: ${text}`);
}
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
async function until(condition, text) {
  for (let waited = 0; waited < kPatience; waited += 50) {
    if (await condition()) return;
    await sleep(50);
  }
  throw new Error(`nothing came of it: ${text}`);
}

// --- Chromium's DevTools protocol, over its pipe ------------------------------------------------

class Browser {
  constructor(profile) {
    this.process = spawn(chromium, ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
      "--disable-background-networking", "--disable-component-update", "--disable-sync", "--remote-debugging-pipe",
      `--user-data-dir=${profile}`], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    this.waiting = new Map();
    this.listeners = new Map();
    this.last = 0;
    let rest = "";
    this.process.stdio[4].setEncoding("utf8").on("data", (text) => {
      const messages = (rest + text).split("\0");
      rest = messages.pop();
      messages.forEach((message) => this.hear(JSON.parse(message)));
    });
    this.process.stdio[3].on("error", () => {}); // it went away: the answers that are missing tell
    this.process.on("exit", () => this.waiting.forEach(([, fail]) => fail(new Error("Chromium ended"))));
  }
  hear(message) {
    if (message.id !== undefined) {
      const [answer, fail] = this.waiting.get(message.id);
      this.waiting.delete(message.id);
      if (message.error) fail(new Error(message.error.message));
      else answer(message.result);
    } else {
      this.listeners.get(message.sessionId)?.(message.method, message.params);
    }
  }
  send(method, params = {}, sessionId = undefined) {
    const id = ++this.last;
    this.process.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    return new Promise((answer, fail) => {
      const timer = setTimeout(() => fail(new Error(`${method}: no answer`)), kPatience);
      const settled = (call) => (value) => (clearTimeout(timer), call(value));
      this.waiting.set(id, [settled(answer), settled(fail)]);
    });
  }
  async close() {
    await this.send("Browser.close").catch(() => {});
    await until(() => this.process.exitCode !== null || this.process.signalCode !== null, "closing Chromium");
  }
}

class Page {
  static async open(browser, file, width, scheme) {
    const page = new Page();
    page.browser = browser;
    page.file = file;
    page.told = [];
    page.loaded = false;
    const { targetId } = await browser.send("Target.createTarget", { url: "about:blank" });
    page.target = targetId;
    const { sessionId } = await browser.send("Target.attachToTarget", { targetId, flatten: true });
    page.session = sessionId;
    browser.listeners.set(sessionId, (method, params) => page.hear(method, params));
    for (const domain of ["Page", "Runtime", "Network", "Log"]) await page.send(`${domain}.enable`);
    await page.send("Emulation.setDeviceMetricsOverride", { width, height: 900, deviceScaleFactor: 1, mobile: width < 600 });
    await page.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
    await page.send("Page.navigate", { url: `file://${file}` });
    await until(() => page.loaded, `loading ${file}`);
    await until(() => page.run("document.querySelectorAll('.plot').length === document.querySelectorAll('.plot canvas').length"),
      "drawing every chart");
    return page;
  }
  hear(method, params) {
    if (method === "Page.loadEventFired") this.loaded = true;
    if (method === "Runtime.consoleAPICalled") this.told.push(`console.${params.type}`);
    if (method === "Runtime.exceptionThrown") this.told.push(params.exceptionDetails.exception?.description ?? "exception");
    if (method === "Log.entryAdded") this.told.push(`${params.entry.level}: ${params.entry.text}`);
    if (method === "Network.requestWillBeSent") {
      const { url } = params.request;
      const own = url === `file://${this.file}` || url.startsWith("data:") || url.startsWith("blob:");
      if (!own) this.told.push(`request of ${url}`);
    }
  }
  send(method, params = {}) {
    return this.browser.send(method, params, this.session);
  }
  async run(expression) {
    const answer = await this.send("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true });
    if (answer.exceptionDetails) throw new Error(answer.exceptionDetails.exception?.description ?? expression);
    return answer.result.value;
  }
  async picture(path) {
    const { cssContentSize: size } = await this.send("Page.getLayoutMetrics");
    const { data } = await this.send("Page.captureScreenshot",
      { captureBeyondViewport: true, clip: { x: 0, y: 0, width: size.width, height: Math.min(size.height, 1700), scale: 1 } });
    writeFileSync(path, Buffer.from(data, "base64"));
  }
  close() {
    return this.browser.send("Target.closeTarget", { targetId: this.target });
  }
}

// --- What a page must do ------------------------------------------------------------------------

// In the page: canvases with one colour all over, charts without words or table.
const kBlank = `[...document.querySelectorAll("canvas")].filter((canvas) => {
  const pixels = new Uint32Array(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer);
  return pixels.every((pixel) => pixel === pixels[0]);
}).length`;
const kMute = `[...document.querySelectorAll("figure.chart")].filter((figure) =>
  !(figure.querySelector("[role=img]")?.getAttribute("aria-label")?.length > 20) || !figure.querySelector("details.fallback")
).length`;
const kTables = `(async () => {
  document.querySelectorAll("details").forEach((details) => (details.open = true));
  await new Promise((done) => setTimeout(done, 100));
  return [...document.querySelectorAll("details.fallback")].filter((details) => !details.querySelector("tbody tr")).length;
})()`;

async function look(browser, name, file, { charts, width, scheme }) {
  const where = `${name} at ${width} px, ${scheme}`;
  const page = await Page.open(browser, file, width, scheme);
  await sleep(50);
  const drawn = await page.run("document.querySelectorAll('.plot canvas').length");
  check(charts === 0 ? drawn === 0 : drawn >= charts, `${where}: ${drawn} charts, not ${charts}`);
  check((await page.run(kBlank)) === 0, `${where}: a chart is blank`);
  check((await page.run(kMute)) === 0, `${where}: a chart without a text alternative or a table`);
  const wide = await page.run("document.documentElement.scrollWidth");
  check(wide <= width, `${where}: the page is ${wide} px wide`);
  const paper = await page.run("getComputedStyle(document.body).backgroundColor");
  check((scheme === "dark") === (paper !== "rgb(255, 255, 255)"), `${where}: its paper is ${paper}`);
  if (pictures) await page.picture(`${pictures}/${name}-${width}-${scheme}.png`);
  check((await page.run(kTables)) === 0, `${where}: a table stays empty`);
  const wider = await page.run("document.documentElement.scrollWidth");
  check(wider <= width, `${where}: with its tables open the page is ${wider} px wide`);
  check(page.told.length === 0, `${where}: ${page.told.join("; ")}`);
  await page.close();
}

async function handle(browser, file, downloads) {
  const page = await Page.open(browser, file, 1280, "light");
  await page.run("document.querySelector('.plot').focus()");
  const key = { key: "ArrowRight", code: "ArrowRight", windowsVirtualKeyCode: 39 };
  await page.send("Input.dispatchKeyEvent", { type: "keyDown", ...key });
  await page.send("Input.dispatchKeyEvent", { type: "keyUp", ...key });
  const value = "document.querySelector('.plot .u-legend .u-series:nth-child(2) .u-value').textContent";
  await until(async () => /\d/.test(await page.run(value)), "a value at the cursor after an arrow key");
  await browser.send("Browser.setDownloadBehavior", { behavior: "allow", downloadPath: downloads });
  await page.run("document.querySelector('button.csv').click()");
  const csv = `${downloads}/cdf-ttft.csv`;
  await until(() => existsSync(csv), "the CSV that was downloaded");
  const lines = readFileSync(csv, "utf8").trim().split("\n");
  check(lines.length === 212 && lines[0] === "share of requests,TTFT", `the CSV: ${lines.length} lines, ${lines[0]}`);
  check(page.told.length === 0, `handling: ${page.told.join("; ")}`);
  await page.close();
}

async function hostile(browser, file, name) {
  const page = await Page.open(browser, file, 390, "light");
  check((await page.run("document.querySelector('h1').textContent")) === name, "a hostile name is not shown as it is");
  check((await page.run("document.querySelectorAll('script').length")) === 2, "a hostile name made a script");
  check((await page.run("window.pwned === undefined")) === true, "a hostile name ran");
  check(page.told.length === 0, `hostile name: ${page.told.join("; ")}`);
  await page.close();
}

// --- The reports ----------------------------------------------------------------------------------

function report(name, ...words) {
  const file = resolve(work, `${name}.html`);
  const made = spawnSync(headway, [...words, "--report", file, "--quiet"], { encoding: "utf8" });
  if (made.stderr.includes("without its report page")) {
    console.error(`skipped: ${made.stderr}`);
    process.exit(77);
  }
  if (made.status !== 0) throw new Error(`headway ${words.join(" ")}: exit code ${made.status}\n${made.stderr}`);
  return file;
}

const kName = `</script><script>window.pwned = 1</script> "it's" <b>&amp;`;
const kGone = { recursive: true, force: true, maxRetries: 50, retryDelay: 100 }; // Chromium's last files
rmSync(work, kGone);
mkdirSync(`${work}/downloads`, { recursive: true });
const scenario = `${work}/scenario.json`;
writeFileSync(scenario, JSON.stringify({
  name: "Small", model: "llama-3.1-8b", gpu: "h100-sxm", profile: "roofline", slo: { ttft_ms: 200, tpot_ms: 50 },
  engine: { num_gpu_blocks_override: 400, max_model_len: 2048 }, // preemptions
  workload: { num_prompts: 200, request_rate: 8, input_len: 600, output_len: { distribution: "uniform", low: 5, high: 300 } },
}));
const run = report("run", "run", scenario);
const compare = report("compare", "compare", scenario, "--vary", "engine.max_num_seqs=2,8,64");
const capacity = report("capacity", "capacity", scenario, "--slo", "ttft:p99:200", "--slo", "tpot:p99:50", "--seeds", "2");
const empty = report("empty", "run", scenario, "--set", "engine.max_model_len=16");
const named = report("named", "run", scenario, "--limit", "20", "--set", `name=${JSON.stringify(kName)}`);

const browser = new Browser(resolve(work, "profile"));
try {
  const everywhere = [[1280, "light"], [1280, "dark"], [390, "light"], [390, "dark"]];
  for (const [width, scheme] of everywhere) {
    await look(browser, "run", run, { charts: 9, width, scheme });
    await look(browser, "compare", compare, { charts: 9, width, scheme });
  }
  for (const [width, scheme] of [[1280, "dark"], [390, "light"]]) {
    await look(browser, "capacity", capacity, { charts: 13, width, scheme });
    await look(browser, "empty", empty, { charts: 0, width, scheme });
  }
  await handle(browser, run, resolve(work, "downloads"));
  await hostile(browser, named, kName);
} catch (error) {
  check(false, error.stack);
} finally {
  await browser.close();
}
if (failures === 0) rmSync(work, kGone);
process.exit(failures === 0 ? 0 : 1);
