import type { Report, Run } from "./data";
import { el } from "./dom";
import { duration, number, percent } from "./format";

type Card = [string, string, string];

function cards(run: Run): Card[] {
  const s = run.summary, ours = s.headway;
  const out: Card[] = [
    ["requests", number(s.completed), s.failed > 0 ? `${number(s.failed)} failed` : "all served"],
    ["throughput", `${number(s.request_throughput)}/s`, `requests over ${duration(1000 * s.duration)}`],
  ];
  if (s.request_goodput !== null) {
    out.push(["goodput", `${number(s.request_goodput)}/s`, "requests within every limit"]);
    out.push(["within limits", percent(ours.slo_attainment), "of all requests"]);
  }
  out.push(["output", `${number(s.output_throughput)}/s`, "tokens"]);
  if (s.completed > 0) {
    out.push(["TTFT p99", duration(s.p99_ttft_ms), `mean ${duration(s.mean_ttft_ms)}`]);
    out.push(["TPOT p99", duration(s.p99_tpot_ms), `mean ${duration(s.mean_tpot_ms)}`]);
    out.push(["E2EL p99", duration(s.p99_e2el_ms), `mean ${duration(s.mean_e2el_ms)}`]);
  }
  out.push(["mean batch", number(ours.engine.mean_batch), "sequences a step"]);
  out.push(["KV peak", percent(ours.kv.peak_share), `mean ${percent(ours.kv.mean_share)}`]);
  out.push(["preemptions", number(ours.preemptions), `in ${number(ours.steps)} steps`]);
  return out;
}

export function headlineCards(run: Run): HTMLElement {
  return el("dl.cards", {}, ...cards(run).map(([name, value, note]) =>
    el("div.card", {}, el("dt", {}, name), el("dd", {}, value), el("dd.small", {}, note))));
}

/** The badge says the first word of the line already. */
export function verdictNode(load: string, text: string, before: string): HTMLElement {
  const rest = text.replace(/^Verdict: /, "").replace(new RegExp(`^${load}[:,]? *`), "").trim();
  return el("p.verdict", {}, before, el(`span.badge.${load}`, {}, load), ` ${rest}`);
}

const kDefinitions: [string, string][] = [
  ["TTFT", "time to first token: from a request's arrival to its first output token, queueing included"],
  ["TPOT", "time per output token: (E2EL − TTFT) / (output tokens − 1), a number a request of two tokens or more"],
  ["ITL", "inter-token latency: the gaps between consecutive tokens of a request, those of all requests pooled"],
  ["E2EL", "end-to-end latency: from arrival to the last token. Under a concurrency limit a request arrives when it is sent"],
  ["percentiles", "by linear interpolation between order statistics; p99 is what 99 % do not exceed"],
  ["throughput", "over the time from the first arrival to the last finish"],
  ["goodput", "requests a second that meet every limit of the scenario; a failed one meets none"],
  ["queueing", "from arrival until the request is first scheduled"],
  ["others' prefill", "time in which a request that could go on waits because a step also computes other requests' prompts"],
  ["preemption", "time lost when a running request gives its place up and starts over"],
  ["stable, backlogged, overloaded", "whether the number of requests in the system grows: not, slowly (or most of their time is queueing), or by 5 % of the arrival rate and more"],
  ["coverage", "measured: a measured point; interpolated: between points; extrapolated: beyond them; roofline: a bound from the GPU's data sheet"],
];

export function definitionsNode(): HTMLElement {
  return el("details.box", {}, el("summary", {}, "What the numbers mean"),
    el("dl.definitions", {}, ...kDefinitions.flatMap(([name, text]) => [el("dt", {}, name), el("dd", {}, text)])));
}

export function emptyNote(report: Report): HTMLElement | null {
  const none = report.runs.filter((run) => run.summary.completed === 0);
  if (none.length === 0) return null;
  const who = none.map((run) => {
    const asked = run.summary.num_prompts as number;
    const what = asked === 0 ? "no request arrived" : `none of ${number(asked)} requests finished (${number(run.summary.failed)} failed)`;
    return run.label ? `${run.label}: ${what}` : what;
  }).join("; ");
  return el("p.empty", { role: "note" }, `There are no latencies to show: ${who}.`);
}
