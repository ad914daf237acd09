import { type Chart, chartNode, type Line, type Mark } from "./chart";
import type { Capacity, Num, Report, Tried } from "./data";
import { el, section } from "./dom";
import { duration, number } from "./format";
import { tableFallback, type Table } from "./table";

function answerMarks(capacity: Capacity): Mark[] {
  if (capacity.met === "always") return [];
  return [
    { along: "x", value: Math.min(capacity.low, capacity.high), to: Math.max(capacity.low, capacity.high), label: "interval" },
    { along: "x", value: capacity.answer, label: `${number(capacity.answer)}` },
  ];
}

function against(capacity: Capacity, of: (run: Tried) => Num, chart: Pick<Chart, "title" | "read" | "name" | "yLabel" | "yUnit"> & Partial<Chart>): HTMLElement {
  const runs = [...capacity.tried].sort((a, b) => a.load - b.load);
  const known = runs.map(of).filter((value): value is number => value !== null && value > 0);
  const log = chart.yUnit === "ms" && known.length > 0 && Math.max(...known) / Math.min(...known) > 20;
  const values = (good: boolean) => runs.map((run) => {
    const value = run.good === good ? of(run) : null;
    return log && value !== null && value <= 0 ? null : value;
  });
  const lines: Line[] = [
    { label: "all met", values: values(true), points: "full", colour: 2 },
    { label: "missed", values: values(false), points: "hollow", colour: 1 },
  ];
  const good = runs.filter((run) => run.good);
  return chartNode({
    x: runs.map((run) => run.load), xLabel: capacity.find, xUnit: "number",
    alternative: `${runs.length} runs, of which ${good.length} meet everything; the answer is ${number(capacity.answer)} ${capacity.find}.`,
    ...chart, lines, logValues: log, marks: [...answerMarks(capacity), ...(chart.marks ?? [])],
  });
}

function triedTable(capacity: Capacity): Table {
  return {
    name: "capacity-runs",
    head: [capacity.find, "seed", "good", "missed", "requests/s", "goodput/s", "within limits %", "output tokens/s",
      ...capacity.targets.map((target) => `${target.name} (ms)`)],
    rows: capacity.tried.map((run) => [run.load, run.seed, run.good ? "yes" : "no", run.miss, run.request_throughput,
      run.goodput, run.attainment_percent, run.output_throughput, ...run.targets_ms]),
    show: (value, column) => (typeof value === "number" && column !== 1 ? number(value) : value === null ? "–" : String(value)),
  };
}

export function capacitySection(report: Report): HTMLElement | null {
  const capacity = report.capacity;
  if (!capacity) return null;
  const charts = capacity.targets.map((target, i) => against(capacity, (run) => run.targets_ms[i] ?? null, {
    title: target.name.split("<=")[0].trim(), name: `capacity-target-${i}`, yLabel: "", yUnit: "ms",
    read: "Every run tried. The dashed line across is the limit, the upright one the answer with its interval.",
    marks: [{ along: "y", value: target.limit_ms, label: `limit ${duration(target.limit_ms)}` }],
  }));
  const goodput = capacity.tried.some((run) => run.goodput !== null);
  charts.push(against(capacity, (run) => (goodput ? run.goodput : run.request_throughput), {
    title: goodput ? "Goodput against load" : "Throughput against load", name: "capacity-goodput", yLabel: "requests/s", yUnit: "number",
    read: goodput ? "Requests a second within the scenario's limits." : "Requests a second (the scenario states no limits to count goodput by).",
  }));
  if (goodput) {
    charts.push(against(capacity, (run) => run.attainment_percent, {
      title: "Share within the limits against load", name: "capacity-attainment", yLabel: "requests", yUnit: "percent",
      read: "Share of all requests within every limit of the scenario.",
    }));
  }
  return section("Load and limits", el("div.grid", {}, ...charts),
    capacity.monotone ? null : el("p.empty", { role: "note" }, "Not monotone: the answer is one edge of several."),
    tableFallback(() => triedTable(capacity), "Every run tried", "Every run tried, as a table"));
}

export function capacityFacts(capacity: Capacity): HTMLElement {
  const facts = [`${number(capacity.runs)} runs on ${number(capacity.gpus)} GPU${capacity.gpus === 1 ? "" : "s"}`];
  if (capacity.usd_per_million_output_tokens > 0) {
    facts.push(`${number(capacity.usd_per_million_output_tokens)} USD a million output tokens`);
  }
  if (capacity.met !== "always" && capacity.beyond.miss) {
    facts.push(`beyond it, at ${number(capacity.beyond.load)} ${capacity.find}: ${capacity.beyond.miss}`);
  }
  return el("p", {}, facts.join("; ") + ".");
}

export function paretoSection(report: Report): HTMLElement | null {
  const points = [...(report.pareto?.points ?? [])];
  if (!report.pareto || points.length < 2) return null;
  points.sort((a, b) => a.tokens_per_s_per_user - b.tokens_per_s_per_user);
  const gpus = [...new Set(points.map((point) => point.gpus))].sort((a, b) => a - b);
  const table: Table = {
    name: "pareto",
    head: ["setup", "GPUs", "tokens/s a user", "tokens/s a GPU", "meets what was asked"],
    rows: points.map((p) => [p.label, p.gpus, p.tokens_per_s_per_user, p.tokens_per_s_per_gpu, p.good ? "yes" : "no"]),
    show: (value) => (typeof value === "number" ? number(value) : value ?? ""),
  };
  const dominated = report.pareto.tried - points.length;
  return section("Speed for a user against work of a GPU", chartNode({
    title: "Pareto front", name: "pareto-front",
    read: `Up and to the right is better. Only points that no other with as many GPUs beats in both` +
      (dominated > 0 ? `; ${dominated === 1 ? "one other is" : `${number(dominated)} others are`} left out.` : "."),
    alternative: points.map((p) => `${p.label}: ${number(p.tokens_per_s_per_user)} tokens/s a user, ${number(p.tokens_per_s_per_gpu)} a GPU`).join("; "),
    x: points.map((p) => p.tokens_per_s_per_user), xLabel: "output tokens/s of a user (1 / mean TPOT)", xUnit: "number",
    yLabel: "output tokens/s of a GPU", yUnit: "number", height: 320,
    table: () => table, pointLabels: points.map((p) => p.label),
    lines: gpus.map((count, i) => ({
      label: `${count} GPU${count === 1 ? "" : "s"}`, points: "full", joined: true, colour: i,
      values: points.map((p) => (p.gpus === count ? p.tokens_per_s_per_gpu : null)),
    })),
  }));
}
