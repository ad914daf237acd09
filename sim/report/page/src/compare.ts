import type { Compare, CompareColumn, CompareRow, Num, Report } from "./data";
import { el, section } from "./dom";
import { change as changeText, number } from "./format";
import { csvButton, type Table, tableNode } from "./table";

const kMostColumns = 6; // variants side by side; more become rows

function cellNode(column: CompareColumn, row: CompareRow, first: CompareRow): HTMLElement {
  const value = row.metrics[column.tag] ?? null, base = first.metrics[column.tag] ?? null;
  const best = row.best.includes(column.tag);
  const cell = el(best ? "td.best" : "td", {}, number(value));
  if (row.std?.[column.tag]) cell.append(el("span.deviation", {}, ` ± ${number(row.std[column.tag])}`));
  if (best) cell.append(el("span.star", { title: "best" }, " ★"));
  if (row !== first && value !== null && base !== null && base !== 0) {
    const change = value / base - 1;
    const better = column.better === "low" ? change < 0 : change > 0;
    const tone = column.better === "none" || Math.abs(change) < 0.0005 ? "" : better ? ".gain" : ".loss";
    cell.append(el(`span.change${tone}`, {}, changeText(1 + change)));
  }
  return cell;
}

/** The terminal's heads are short. */
const kNames: Record<string, string> = {
  completed: "finished", request_throughput: "throughput", slo_attainment_percent: "within limits",
  output_throughput: "output", mean_batch: "batch", preemptions: "preemptions",
};
const columnName = (column: CompareColumn): string => `${kNames[column.tag] ?? column.head} (${column.unit})`;

function csvTable(compare: Compare): Table {
  return {
    name: "compare",
    head: ["variant", ...compare.columns.map((column) => column.tag), "load"],
    rows: compare.rows.map((row) => [row.label, ...compare.columns.map((column) => row.metrics[column.tag] ?? null), row.load]),
  };
}

function metricsByVariant(compare: Compare): HTMLElement {
  const first = compare.rows[0];
  const body = compare.columns.map((column) => el("tr", {}, el("th", { scope: "row" }, columnName(column)),
    ...compare.rows.map((row) => cellNode(column, row, first))));
  body.push(el("tr", {}, el("th", { scope: "row" }, "verdict"),
    ...compare.rows.map((row) => el("td", {}, el(`span.badge.${row.load}`, {}, row.load)))));
  return el("table.compare", {}, el("caption", {}, `Differences are against ${first.label}; ★ is the best of its row.`),
    el("thead", {}, el("tr", {}, el("td"), ...compare.rows.map((row) => el("th", { scope: "col" }, row.label)))),
    el("tbody", {}, ...body));
}

function variantsByMetric(compare: Compare): HTMLElement {
  const first = compare.rows[0];
  return el("table.compare", {}, el("caption", {}, `Differences are against ${first.label}; ★ is the best of its column.`),
    el("thead", {}, el("tr", {}, el("td"), ...compare.columns.map((column) => el("th", { scope: "col" }, columnName(column))),
      el("th", { scope: "col" }, "verdict"))),
    el("tbody", {}, ...compare.rows.map((row) => el("tr", {}, el("th", { scope: "row" }, row.label),
      ...compare.columns.map((column) => cellNode(column, row, first)),
      el("td", {}, el(`span.badge.${row.load}`, {}, row.load))))));
}

function pairedNode(compare: Compare): HTMLElement | null {
  if (!compare.paired) return null;
  const rows = compare.paired.flatMap((pair) => Object.entries(pair.metrics).map(([tag, d]) => [
    `${pair.label} against ${pair.against}`, tag, d.difference, d.low, d.high,
    d.shown ? "yes" : "no",
  ] as (string | Num)[]));
  return tableNode({
    name: "paired", head: ["pair", "metric", "difference", "from", "to", "difference shown"], rows,
    show: (value) => (typeof value === "number" ? number(value) : value ?? ""),
  }, `Paired differences over ${compare.paired[0]?.pairs ?? 0} runs with the same arrivals, 95 % intervals`);
}

export function compareSection(report: Report): HTMLElement | null {
  const compare = report.compare;
  if (!compare) return null;
  const wide = compare.rows.length <= kMostColumns;
  const table = wide ? metricsByVariant(compare) : variantsByMetric(compare);
  const reasons = compare.rows.filter((row) => row.explanation).slice(0, 12);
  return section("Comparison",
    el("div.scroll", { tabindex: "0", role: "region", "aria-label": "Comparison of the variants" }, table),
    el("div.under", {}, csvButton(() => csvTable(compare), "the comparison")),
    reasons.length ? el("dl.reasons", {}, ...reasons.flatMap((row) => [el("dt", {}, row.label), el("dd", {}, row.explanation)])) : null,
    pairedNode(compare));
}
