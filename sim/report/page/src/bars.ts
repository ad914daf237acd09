import { el, freshId } from "./dom";
import { number, percent, wholePercent } from "./format";
import { type Table, tableFallback } from "./table";

export interface Bar {
  label: string;
  parts: number[]; // one a title
  total: string; // as text, at the end of the bar
}

export interface Bars {
  title: string;
  read: string;
  name: string;
  titles: string[];
  bars: Bar[];
  unit: string; // of the parts, in the table
}

const kFewestShown = 0.12; // a share with room for its text

function barNode(bar: Bar, titles: string[]): HTMLElement {
  const sum = bar.parts.reduce((a, b) => a + b, 0);
  const track = el("div.track");
  bar.parts.forEach((part, i) => {
    const share = sum > 0 ? part / sum : 0;
    if (share < 0.0005) return;
    const piece = el(`div.piece.p${i}`, { title: `${titles[i]}: ${percent(share)}` },
      share >= kFewestShown ? el("span", {}, wholePercent(share)) : null);
    piece.style.width = `${100 * share}%`;
    track.append(piece);
  });
  return el("div.bar", {}, el("div.name", {}, bar.label), track, el("div.total", {}, bar.total));
}

function describe(bars: Bars): string {
  return bars.bars.map((bar) => {
    const sum = bar.parts.reduce((a, b) => a + b, 0);
    const parts = bar.parts.map((part, i) => ({ title: bars.titles[i], share: sum > 0 ? part / sum : 0 }))
      .filter((part) => part.share >= 0.01).sort((a, b) => b.share - a.share)
      .map((part) => `${part.title} ${percent(part.share)}`);
    return `${bar.label}: ${parts.join(", ") || "nothing"}`;
  }).join(". ");
}

/** Stacked bars of shares, one below the other, with the totals beside them. */
export function barsNode(bars: Bars): HTMLElement {
  const title = freshId("bars");
  const used = bars.titles.map((_, i) => bars.bars.some((bar) => bar.parts[i] > 0));
  const legend = el("ul.legend", { "aria-hidden": "true" }, ...bars.titles.map((text, i) =>
    used[i] ? el("li", {}, el(`span.swatch.p${i}`), text) : null));
  const table = (): Table => ({
    name: bars.name,
    head: ["", ...bars.titles.map((text) => `${text}${bars.unit ? ` (${bars.unit})` : ""}`)],
    rows: bars.bars.map((bar) => [bar.label, ...bar.parts]),
    show: (value) => (typeof value === "number" ? number(value) : value ?? ""),
  });
  return el("figure.chart", { "aria-labelledby": title },
    el("figcaption", {}, el("h3", { id: title }, bars.title), el("p", {}, bars.read)),
    el("div.bars", { role: "img", "aria-label": `${bars.title}. ${describe(bars)}` },
      ...bars.bars.map((bar) => barNode(bar, bars.titles))),
    legend, tableFallback(table, bars.title));
}
