import { type Bar, barsNode } from "./bars";
import { type Chart, chartNode } from "./chart";
import type { Report, Run } from "./data";
import { el, section } from "./dom";
import { duration, number } from "./format";
import { tableFallback, type Table, tableNode } from "./table";

const kMetrics = [
  ["ttft", "Time to first token (TTFT)"],
  ["tpot", "Time per output token (TPOT)"],
  ["itl", "Gap between tokens (ITL)"],
  ["e2el", "End-to-end latency (E2EL)"],
] as const;
const kStatistics = ["mean", "p50", "p90", "p95", "p99"];

const name = (run: Run): string => run.label || "this run";

function distribution(report: Report, metric: string, title: string): HTMLElement | null {
  const key = `${metric}_ms`;
  const runs = report.runs.filter((run) => run.curves[key].length > 0);
  if (runs.length === 0) return null;
  const values = runs.flatMap((run) => run.curves[key]).filter((value): value is number => value !== null && value > 0);
  const least = Math.min(...values), most = Math.max(...values);
  const log = most / least > 20;
  const limit = runs[0].summary.headway.slo?.[key] as number | null | undefined;
  const chart: Chart = {
    title,
    read: limit ? "A curve left of the dashed line at a share means that share is within the limit."
      : "The share of them that is at most so long. Further left is faster.",
    alternative: runs.map((run) => `${name(run)}: median ${duration(run.summary[`p50_${key}`])}, ` +
      `99 % within ${duration(run.summary[`p99_${key}`])}`).join("; ") + (limit ? `; the limit is ${duration(limit)}` : ""),
    name: `cdf-${metric}`,
    x: runs[0].curves.shares.map((share) => 100 * (share ?? 0)),
    xLabel: metric === "itl" ? "share of gaps" : "share of requests",
    xUnit: "percent",
    yLabel: log ? `${metric.toUpperCase()} (logarithmic)` : metric.toUpperCase(),
    yUnit: "ms",
    lines: report.runs.map((run, i) => ({
      label: run.label || metric.toUpperCase(),
      colour: i,
      values: run.curves.shares.map((_, k) => {
        const value = run.curves[key][k] ?? null;
        return log && value !== null && value <= 0 ? null : value;
      }),
    })),
    marks: limit ? [{ along: "y", value: limit, label: `limit ${duration(limit)}` }] : [],
    sideways: true,
    logValues: log,
    height: 270,
  };
  return chartNode(chart);
}

function percentiles(report: Report): Table {
  return {
    name: "latency",
    head: [...(report.runs.length > 1 ? ["run"] : []), "metric", ...kStatistics.map((s) => `${s} (ms)`)],
    rows: report.runs.flatMap((run) => kMetrics.map(([metric]) => [
      ...(report.runs.length > 1 ? [run.label] : []), metric.toUpperCase(),
      ...kStatistics.map((s) => run.summary[`${s}_${metric}_ms`] as number),
    ])),
    show: (value) => (typeof value === "number" ? number(value) : value ?? ""),
  };
}

export function latencySection(report: Report): HTMLElement {
  const charts = kMetrics.map(([metric, title]) => distribution(report, metric, title));
  const table = () => percentiles(report);
  const single = report.runs.length === 1;
  return section("Latency", el("div.grid", {}, ...charts),
    single ? el("div", {}, tableNode(table(), "Latency percentiles, in milliseconds")) : null,
    single ? null : tableFallback(table, "Latency percentiles, in milliseconds", "All percentiles, as a table"));
}

function groupLabel(from: number, to: number): string {
  const percent = (share: number) => `${+(100 * share).toFixed(1)}`;
  if (from === 0) return `fastest ${percent(to)} %`;
  return to === 1 ? `slowest ${percent(1 - from)} %` : `${percent(from)} to ${percent(to)} %`;
}

const total = (parts: number[]): string => duration(parts.reduce((a, b) => a + b, 0));

export function attributionSection(report: Report): HTMLElement {
  const keys = Object.keys(report.runs[0]?.summary.headway.attribution_ms ?? {});
  const many = report.runs.length > 1;
  const bars: Bar[] = report.runs.flatMap((run) => {
    const all = keys.map((key) => run.summary.headway.attribution_ms[key] as number);
    const whole: Bar = { label: many ? run.label : "all requests", parts: all, total: total(all) };
    const groups = many ? run.groups.slice(-1) : run.groups;
    return [whole, ...groups.map((group) => {
      const parts = keys.map((key) => group.parts_ms[key] ?? 0);
      return { label: (many ? "… " : "") + groupLabel(group.from, group.to), parts, total: total(parts) };
    })];
  });
  return section("Where the time went", barsNode({
    title: "Parts of the end-to-end latency",
    read: "Each bar is the mean request of a group, by how slow it was; its parts add up to the time at its end.",
    name: "attribution", titles: report.part_titles, bars, unit: "ms",
  }));
}
