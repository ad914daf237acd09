import type { Report } from "./data";
import { el, section } from "./dom";
import { number } from "./format";
import { csvButton, type Table, tableNode } from "./table";

/** The setups of a plan with the load that each bears: those of the front first. */
export function planSection(report: Report): HTMLElement | null {
  const plan = report.plan;
  if (!plan) return null;
  const found = plan.setups.filter((setup) => setup.status === "ok");
  found.sort((a, b) => Number(b.on_front) - Number(a.on_front) || a.gpus! - b.gpus! ||
    b.tokens_per_s_per_user! - a.tokens_per_s_per_user!);
  const priced = found.some((setup) => setup.usd_per_million_output_tokens! > 0);
  const table: Table = {
    name: "plan",
    head: [plan.keys, "on the front", "GPUs", `load (${plan.load_unit})`, "tokens/s a user", "tokens/s a GPU",
      ...(priced ? ["USD a million output tokens"] : []), "TTFT p99 (ms)", "TPOT mean (ms)"],
    rows: found.map((setup) => [setup.label, setup.on_front ? "★" : "", setup.gpus!, setup.load!,
      setup.tokens_per_s_per_user!, setup.tokens_per_s_per_gpu!,
      ...(priced ? [setup.usd_per_million_output_tokens!] : []), setup.ttft_p99_ms!, setup.tpot_mean_ms!]),
    show: (value) => (typeof value === "number" ? number(value) : value ?? "–"),
  };
  const others = plan.setups.filter((setup) => setup.status !== "ok");
  return section("Setups", tableNode(table, `${found.length} of ${plan.setups.length} setups bear a load within the limits`),
    el("div.under", {}, csvButton(() => table, "the setups")),
    others.length ? el("details.box", {}, el("summary", {}, `${others.length} others, and why`),
      el("dl.definitions", {}, ...others.slice(0, 200).flatMap((setup) =>
        [el("dt", {}, setup.label), el("dd", {}, `${setup.status}: ${setup.reason}`)]))) : null);
}
