import { barsNode } from "./bars";
import type { Report } from "./data";
import { el, section } from "./dom";
import { duration } from "./format";

const kCoverage = ["measured", "interpolated", "extrapolated", "roofline"];

export function engineSection(report: Report): HTMLElement {
  const label = (run: { label: string }) => run.label || "GPU time";
  const classes = Object.keys(report.runs[0]?.summary.headway.engine.gpu_time_share ?? {});
  return section("GPU time", el("div.grid", {},
    barsNode({
      title: "What a step's time is made of", name: "gpu-time", titles: report.class_titles, unit: "share",
      read: "Shares of the modelled GPU time, by kind of operator; the mean step, host included, stands beside.",
      bars: report.runs.map((run) => ({
        label: label(run), parts: classes.map((key) => run.summary.headway.engine.gpu_time_share[key] as number),
        total: `${duration(run.summary.headway.engine.mean_step_ms)} a step`,
      })),
    }),
    barsNode({
      title: "Where the step times come from", name: "coverage", titles: kCoverage, unit: "share",
      read: "How much of that time was measured on the GPU, lies between or beyond measured points, or is a roofline bound.",
      bars: report.runs.map((run) => ({
        label: label(run), parts: kCoverage.map((key) => run.summary.headway.coverage[key] as number),
        total: `${duration(1000 * run.summary.headway.engine.gpu_s)}`,
      })),
    })));
}
