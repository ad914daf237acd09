import uPlot from "uplot";
import type { Num } from "./data";
import { el, freshId } from "./dom";
import { duration, number } from "./format";
import { type Table, tableFallback } from "./table";
import { colour, lineColour, lineDash, onThemeChange } from "./theme";

export type Unit = "ms" | "s" | "percent" | "number";

export interface Line {
  label: string;
  values: Num[];
  colour?: number; // index into the theme's colours; else its place
  points?: "full" | "hollow"; // drawn as points, without a line
  joined?: boolean; // points with a line through them
  faint?: boolean; // an edge of a band
  bars?: boolean;
}

export interface Mark {
  along: "x" | "y"; // the scale on which it has one value
  value: number;
  to?: number; // a band from `value` to here
  label: string;
}

export interface Chart {
  title: string;
  read: string; // one sentence: how to read it
  alternative: string; // what one sees, for those who do not
  name: string; // of the CSV file
  x: number[];
  xLabel: string;
  xUnit: Unit;
  yLabel: string;
  yUnit: Unit;
  lines: Line[];
  band?: [number, number]; // lines (by index) with a fill between them: upper, lower
  marks?: Mark[];
  pointLabels?: string[]; // one a value of x, drawn where there is room
  table?: () => Table; // instead of x and the lines
  sideways?: boolean; // x drawn upwards, values to the right (distributions)
  logValues?: boolean;
  fromZero?: boolean;
  height?: number;
}

const kTimeSteps = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60,
  120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 2592000];

/** Values at the axis in one unit, so that they can be compared at a glance. */
function axisTexts(values: (number | null)[], unit: Unit): string[] {
  const most = Math.max(...values.map((value) => Math.abs(value ?? 0)));
  const text = (value: number) => String(Number(value.toPrecision(4)));
  if (unit === "percent") return values.map((value) => (value === null ? "" : `${text(value)} %`));
  if (unit === "number") {
    const [by, sign] = most >= 1e9 ? [1e9, "G"] : most >= 1e6 ? [1e6, "M"] : most >= 1e4 ? [1e3, "k"] : [1, ""];
    return values.map((value) => (value === null ? "" : text(value / by) + (value === 0 ? "" : sign)));
  }
  if (unit === "ms") return values.map((value) => (value === null ? "" : value === 0 ? "0" : duration(value)));
  const [by, name] = most >= 172_800 ? [86_400, "d"] : most >= 7200 ? [3600, "h"] : most >= 120 ? [60, "min"]
    : most >= 1 ? [1, "s"] : [0.001, "ms"];
  return values.map((value) => (value === null ? "" : value === 0 ? "0" : `${text(value / by)} ${name}`));
}

/** 1, 2 and 5 of each power of ten; of many, the powers alone. */
function logSplits(low: number, high: number): number[] {
  const first = Math.floor(Math.log10(low)), last = Math.ceil(Math.log10(high));
  const digits = last - first > 4 ? [1] : last - first > 2 ? [1, 3] : [1, 2, 5];
  const splits: number[] = [];
  for (let power = first; power <= last; ++power) {
    for (const digit of digits) splits.push(Number((digit * 10 ** power).toPrecision(3)));
  }
  return splits.filter((value) => value >= low && value <= high);
}

function shownValue(value: Num, unit: Unit): string {
  if (value === null || value === undefined) return "–";
  if (unit === "ms") return duration(value);
  if (unit === "s") return duration(value * 1000);
  if (unit === "percent") return `${number(value)} %`;
  return number(value);
}

export function tableOf(chart: Chart): Table {
  return {
    name: chart.name,
    head: [chart.xLabel, ...chart.lines.map((line) => line.label)],
    rows: chart.x.map((x, i) => [Number(x.toPrecision(9)), ...chart.lines.map((line) => line.values[i] ?? null)]),
    show: (value) => (typeof value === "number" ? number(value) : value === null ? "–" : value),
  };
}

function range(chart: Chart, low: number | null, high: number | null): [number, number] {
  const along = chart.marks?.filter((mark) => mark.along === "y").map((mark) => mark.value) ?? [];
  if (low === null || high === null) return chart.logValues ? [1, 10] : [0, 1];
  const least = Math.min(low, ...along), most = Math.max(high, ...along);
  if (chart.logValues) return [least / 1.25, most * 1.25];
  const bottom = chart.fromZero === false ? least : Math.min(0, least);
  return [bottom, most > bottom ? most + (most - bottom) * 0.06 : bottom + 1];
}

function drawMarks(plot: uPlot, marks: Mark[]): void {
  const { ctx } = plot, box = plot.bbox, ratio = devicePixelRatio;
  ctx.save();
  ctx.beginPath();
  ctx.rect(box.left, box.top, box.width, box.height);
  ctx.clip();
  ctx.font = `${11 * ratio}px system-ui, sans-serif`;
  ctx.textBaseline = "top";
  for (const mark of marks) {
    const across = plot.scales[mark.along].ori === 0; // a vertical line
    const at = plot.valToPos(mark.value, mark.along, true);
    if (mark.to !== undefined) {
      const end = plot.valToPos(mark.to, mark.along, true);
      ctx.fillStyle = colour("band");
      if (across) ctx.fillRect(at, box.top, Math.max(end - at, ratio), box.height);
      else ctx.fillRect(box.left, end, box.width, Math.max(at - end, ratio));
      continue;
    }
    ctx.strokeStyle = ctx.fillStyle = colour("mark");
    ctx.lineWidth = 1.5 * ratio;
    ctx.setLineDash([5 * ratio, 4 * ratio]);
    ctx.beginPath();
    ctx.moveTo(across ? at : box.left, across ? box.top : at);
    ctx.lineTo(across ? at : box.left + box.width, across ? box.top + box.height : at);
    ctx.stroke();
    const left = across && at > box.left + box.width - ctx.measureText(mark.label).width - 8 * ratio;
    ctx.textAlign = left ? "right" : "left";
    ctx.fillText(mark.label, across ? at + (left ? -4 : 4) * ratio : box.left + 4 * ratio,
      across ? box.top + 3 * ratio : at + 3 * ratio);
  }
  ctx.restore();
}

/** Beside the points, those first that are further right; none over another. */
function drawPointLabels(plot: uPlot, chart: Chart): void {
  const { ctx } = plot, ratio = devicePixelRatio, height = 13 * ratio, box = plot.bbox;
  const taken: [number, number, number][] = [];
  ctx.save();
  ctx.font = `${11 * ratio}px system-ui, sans-serif`;
  ctx.fillStyle = colour("soft");
  ctx.textBaseline = "bottom";
  for (let i = chart.x.length - 1; i >= 0; --i) {
    const text = chart.pointLabels![i], value = chart.lines.map((line) => line.values[i]).find((v) => v !== null);
    if (value === undefined || value === null) continue;
    const width = ctx.measureText(text).width, x = plot.valToPos(chart.x[i], "x", true);
    const left = Math.min(Math.max(x - width / 2, box.left + 2 * ratio), box.left + box.width - width);
    const bottom = plot.valToPos(value, "y", true) - 7 * ratio;
    if (taken.some(([a, b, y]) => left < b && left + width > a && Math.abs(y - bottom) < height)) continue;
    taken.push([left - 4 * ratio, left + width + 4 * ratio, bottom]);
    ctx.textAlign = "left";
    ctx.fillText(text, left, bottom);
  }
  ctx.restore();
}

function seriesOf(chart: Chart, line: Line, i: number): uPlot.Series {
  const place = line.colour ?? i;
  const stroke = () => (line.faint ? "transparent" : lineColour(place));
  const points = line.points !== undefined;
  return {
    label: line.label,
    stroke,
    width: points && !line.joined ? 0 : 1.75,
    dash: chart.sideways || place > 5 ? lineDash(place) : undefined, // noisy curves hide dashes
    spanGaps: points,
    paths: line.bars ? uPlot.paths.bars!({ size: [0.9, 30], align: 1 })
      : points && !line.joined ? () => null : undefined,
    fill: line.bars ? () => lineColour(place) : undefined,
    points: points
      ? { show: true, size: 8, width: 1.5, stroke, fill: () => (line.points === "full" ? lineColour(place) : colour("paper")) }
      : { show: false },
    value: (_plot, value) => shownValue(value, chart.yUnit),
  };
}

function options(chart: Chart, width: number): uPlot.Options {
  const ink = () => colour("soft"), grid = { stroke: () => colour("grid"), width: 1 };
  const up = chart.sideways ? 0 : 1;
  const height = chart.height ?? 250;
  return {
    width,
    height,
    legend: { live: true },
    cursor: { drag: { x: !chart.sideways, y: false }, points: { size: 6 } },
    scales: {
      x: {
        time: false,
        ori: chart.sideways ? 1 : 0,
        range: chart.sideways ? [0, 100]
          : (_plot, low, high) => (low === null ? [0, 1] : low === high ? [low - 0.5, high + 0.5] : [low, high]),
      },
      y: { ori: up, distr: chart.logValues ? 3 : 1, range: (_plot, low, high) => range(chart, low, high) },
    },
    axes: [
      { scale: "x", side: chart.sideways ? 3 : 2, stroke: ink, grid, ticks: grid, size: chart.sideways ? 56 : 44,
        splits: chart.sideways ? () => [0, 25, 50, 75, 100] : undefined,
        label: chart.xLabel, labelSize: 18, incrs: chart.xUnit === "s" ? kTimeSteps : undefined,
        values: (_plot, values) => axisTexts(values, chart.xUnit) },
      { scale: "y", side: chart.sideways ? 2 : 3, stroke: ink, grid, ticks: grid, size: chart.sideways ? 44 : 58,
        label: chart.yLabel, labelSize: 18, space: chart.sideways ? 60 : 30,
        splits: chart.logValues ? (_plot, _axis, low, high) => logSplits(low, high) : undefined,
        filter: chart.logValues ? (_plot, splits) => splits : undefined,
        values: (_plot, values) => axisTexts(values, chart.yUnit) },
    ],
    series: [
      { label: chart.xLabel, value: (_plot, value) => shownValue(value, chart.xUnit) },
      ...chart.lines.map((line, i) => seriesOf(chart, line, i)),
    ],
    bands: chart.band
      ? [{ series: [chart.band[0] + 1, chart.band[1] + 1], fill: () => colour("band") }]
      : undefined,
    hooks: {
      draw: [(plot) => {
        drawMarks(plot, chart.marks ?? []);
        if (chart.pointLabels) drawPointLabels(plot, chart);
      }],
    },
  };
}

/** Arrow keys walk the cursor along x, so that its values can be read without a mouse. */
function walk(plot: uPlot, chart: Chart, event: KeyboardEvent): void {
  const step = { ArrowLeft: -1, ArrowRight: 1, PageDown: -20, PageUp: 20 }[event.key];
  if (step === undefined && event.key !== "Home" && event.key !== "End") return;
  event.preventDefault();
  const last = chart.x.length - 1, from = plot.cursor.idx ?? (step !== undefined && step < 0 ? last + 1 : -1);
  const to = event.key === "Home" ? 0 : event.key === "End" ? last : from + (step ?? 0);
  const idx = Math.min(last, Math.max(0, to)), at = plot.valToPos(chart.x[idx], "x");
  plot.setCursor(chart.sideways ? { left: plot.over.clientWidth / 2, top: at }
    : { left: at, top: plot.over.clientHeight / 2 });
}

/** The figure: title, canvas, text alternative, table and CSV. Drawn when it comes near the window. */
export function chartNode(chart: Chart): HTMLElement {
  const title = freshId("chart");
  const plotBox = el("div.plot", { tabindex: "0", role: "img", "aria-label": `${chart.title}. ${chart.alternative}` });
  plotBox.style.minHeight = `${chart.height ?? 250}px`;
  const figure = el("figure.chart", { "aria-labelledby": title },
    el("figcaption", {}, el("h3", { id: title }, chart.title), el("p", {}, chart.read)),
    plotBox, tableFallback(chart.table ?? (() => tableOf(chart)), chart.title));
  let plot: uPlot | undefined;
  const draw = () => {
    const width = Math.floor(plotBox.clientWidth);
    if (width < 50) return;
    if (plot) {
      if (plot.width !== width) plot.setSize({ width, height: chart.height ?? 250 });
      return;
    }
    plot = new uPlot(options(chart, width), [chart.x, ...chart.lines.map((line) => line.values)] as uPlot.AlignedData, plotBox);
  };
  new ResizeObserver(draw).observe(plotBox);
  plotBox.addEventListener("keydown", (event) => plot && walk(plot, chart, event));
  onThemeChange(() => plot?.redraw(false));
  return figure;
}
