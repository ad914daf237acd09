import { type Chart, chartNode, type Line } from "./chart";
import type { History, Num, Report } from "./data";
import { el, section } from "./dom";
import { number } from "./format";

type Key = Exclude<keyof History, "width_s" | "columns" | "count_width_s">;

const most = (values: Num[]): number => values.reduce<number>((m, value) => Math.max(m, value ?? 0), 0);
const mean = (values: Num[]): number => {
  const known = values.filter((value): value is number => value !== null);
  return known.length ? known.reduce((a, b) => a + b, 0) / known.length : 0;
};

/** The longest run's columns: the others have the same, and fewer. */
function times(report: Report, counts: boolean): number[] {
  const key = counts ? "arrivals_per_s" : "in_system";
  const longest = report.runs.reduce((n, run) => Math.max(n, run.history[key].length), 0);
  const width = report.runs[0].history[counts ? "count_width_s" : "width_s"];
  return Array.from({ length: longest }, (_, i) => i * width);
}

function padded(values: Num[], length: number): Num[] {
  return values.concat(Array<Num>(Math.max(0, length - values.length)).fill(null));
}

function over(report: Report, counts: boolean, chart: Pick<Chart, "title" | "read" | "name" | "yLabel" | "yUnit"> & Partial<Chart>,
              keys: [Key, string][]): HTMLElement {
  const x = times(report, counts);
  const many = report.runs.length > 1;
  const lines: Line[] = report.runs.flatMap((run, r) => keys.map(([key, label], k) => ({
    label: many ? (keys.length > 1 ? `${run.label}: ${label}` : run.label) : label,
    colour: many ? r : k, values: padded(run.history[key], x.length), ...(chart.lines?.[k] ?? {}),
  })));
  const unit = chart.yUnit === "percent" ? " %" : "";
  return chartNode({
    x, xLabel: "simulated time", xUnit: "s",
    alternative: lines.filter((line) => !line.faint)
      .map((line) => `${line.label}: mean ${number(mean(line.values))}${unit}, most ${number(most(line.values))}${unit}`).join("; "),
    ...chart, lines,
  });
}

function ofOneRun(report: Report): HTMLElement[] {
  const history = report.runs[0].history;
  const faint = (...which: number[]): Line[] =>
    [0, 1, 2, 3].map((k) => (which.includes(k) ? { faint: true } : {})) as Line[];
  const charts = [
    over(report, false, { title: "Requests in the system", name: "requests", yLabel: "requests", yUnit: "number",
      read: "With a place in the batch, and waiting for one: means of a column. The band is the least and the most in the system.",
      lines: faint(2, 3), band: [2, 3] },
      [["running", "running"], ["waiting", "waiting"], ["in_system_max", "most"], ["in_system_min", "least"]]),
    over(report, false, { title: "KV cache", name: "kv", yLabel: "blocks held", yUnit: "percent",
      read: "Share of the KV blocks that are held while the engine runs; the band goes up to the fullest replica's peak.",
      lines: faint(1), band: [1, 0] },
      [["kv", "held"], ["kv_peak", "peak"]]),
    over(report, true, { title: "Tokens", name: "tokens", yLabel: "tokens/s", yUnit: "number",
      read: "Output tokens that came out, and prompt tokens that were computed, each second." },
      [["output_tokens_per_s", "output"], ["prefill_tokens_per_s", "prompt"]]),
    over(report, true, { title: "Arrivals and finishes", name: "arrivals", yLabel: "requests/s", yUnit: "number",
      read: "Where arrivals stay above finishes, requests pile up." },
      [["arrivals_per_s", "arrivals"], ["finishes_per_s", "finishes"]]),
  ];
  if (most(history.preemptions) > 0) {
    charts.push(over(report, true, { title: "Preemptions", name: "preemptions", yLabel: "preemptions", yUnit: "number",
      read: "Times that a running request lost its place in a column.", lines: [{ bars: true }] as Line[] },
      [["preemptions", "preemptions"]]));
  }
  return charts;
}

function ofVariants(report: Report): HTMLElement[] {
  const charts = [
    over(report, false, { title: "Requests waiting", name: "waiting", yLabel: "requests", yUnit: "number",
      read: "Waiting for a place, as the engine's steps tell." }, [["waiting", "waiting"]]),
    over(report, false, { title: "Requests running", name: "running", yLabel: "requests", yUnit: "number",
      read: "With a place in the batch." }, [["running", "running"]]),
    over(report, false, { title: "KV cache", name: "kv", yLabel: "blocks held", yUnit: "percent",
      read: "Share of the KV blocks that are held while the engine runs." }, [["kv", "held"]]),
    over(report, true, { title: "Output tokens", name: "tokens", yLabel: "tokens/s", yUnit: "number",
      read: "Output tokens that came out, each second." }, [["output_tokens_per_s", "output"]]),
  ];
  if (report.runs.some((run) => most(run.history.preemptions) > 0)) {
    charts.push(over(report, true, { title: "Preemptions", name: "preemptions", yLabel: "preemptions", yUnit: "number",
      read: "Times that a running request lost its place in a column." }, [["preemptions", "preemptions"]]));
  }
  return charts;
}

export function timeSection(report: Report): HTMLElement {
  const charts = report.runs.length > 1 ? ofVariants(report) : ofOneRun(report);
  const none = report.runs.every((run) => most(run.history.preemptions) === 0);
  return section("Over time", el("div.grid", {}, ...charts),
    none ? el("p.note", {}, "No request was preempted.") : null,
    el("p.note", {}, "Drag over a chart to look closer, double-click to go back; with the keyboard, arrow keys read the values."));
}
