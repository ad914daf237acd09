import "./style.css";
import { capacityFacts, capacitySection, paretoSection } from "./capacity";
import { compareSection } from "./compare";
import type { Report } from "./data";
import { el, section } from "./dom";
import { engineSection } from "./engine";
import { definitionsNode, emptyNote, headlineCards, verdictNode } from "./headline";
import { attributionSection, latencySection } from "./latency";
import { timeSection } from "./overtime";
import { planSection } from "./plan";

function header(report: Report): HTMLElement {
  const kind = { run: "Run", compare: "Comparison", capacity: "Capacity", plan: "Capacity of a plan's setups" }[report.kind];
  const node = el("header", {}, el("p.kind", {}, `Headway · ${kind}`), el("h1", {}, report.title || "A run"));
  if (report.capacity) {
    const text = report.capacity.text;
    node.append(el("p.verdict", {}, el("strong", {}, text.charAt(0).toUpperCase() + text.slice(1))), capacityFacts(report.capacity));
  }
  for (const run of report.kind === "compare" ? [] : report.runs) {
    node.append(verdictNode(run.verdict.load, run.verdict.text, report.capacity ? "At the answer: " : ""));
    if (run.explanation) node.append(el("p", {}, run.explanation));
  }
  if (report.kind === "compare") {
    node.append(el("dl.reasons", {}, ...report.runs.flatMap((run) =>
      [el("dt", {}, run.label), el("dd", {}, verdictNode(run.verdict.load, run.verdict.text, ""))])));
  }
  if (report.notes.length > 0) node.append(el("ul.notes", {}, ...report.notes.map((note) => el("li", {}, note))));
  return node;
}

function copyButton(text: string): HTMLElement {
  const button = el("button.copy", { type: "button" }, "Copy");
  button.addEventListener("click", () => {
    navigator.clipboard?.writeText(text).then(() => (button.textContent = "Copied"), () => (button.textContent = "Select it and copy"));
  });
  return button;
}

function json(title: string, value: unknown): HTMLElement {
  return el("details.box", {}, el("summary", {}, title), el("pre", { tabindex: "0" }, JSON.stringify(value, null, 2)));
}

function configurationSection(report: Report): HTMLElement {
  const first = report.runs[0]?.summary.headway;
  const facts = [`Headway ${report.version ?? ""}`, first ? `seed ${first.seed}` : "", report.date ? `made ${report.date}` : "",
    first && report.kind === "run" ? `fingerprint ${first.fingerprint}` : ""].filter(Boolean);
  const changed = report.runs.filter((run) => run.changes && Object.keys(run.changes).length > 0);
  return section("Configuration",
    el("p", {}, "The command that made this report:"),
    el("div.command", {}, el("pre", { tabindex: "0" }, report.command), copyButton(report.command)),
    el("p.note", {}, facts.join(" · ")),
    report.scenario === null ? null : json(report.kind === "compare" ? `Scenario, resolved, of ${report.runs[0]?.label ?? "the first"}` : "Scenario, resolved (save it as a file to run it again)", report.scenario),
    ...(changed.length ? [json("What the other variants change", Object.fromEntries(changed.map((run) => [run.label, run.changes])))] : []),
    first?.profile ? json("Where the kernel times were measured", first.profile) : null,
    first ? json("KV memory budget", first.kv) : null,
    report.thinned.length ? el("p.note", {}, "What was thinned for this page:") : null,
    el("ul.note", {}, ...report.thinned.map((text) => el("li", {}, text))));
}

function show(report: Report): void {
  document.title = `${report.title || "Headway"} – Headway report`;
  const page = document.getElementById("page")!;
  const finished = report.runs.some((run) => run.summary.completed > 0);
  const stepped = report.runs.some((run) => run.summary.headway.steps > 0);
  const parts: (HTMLElement | null)[] = [
    header(report),
    emptyNote(report),
    report.kind !== "compare" && report.runs[0] ? headlineCards(report.runs[0]) : null,
    definitionsNode(),
    planSection(report),
    compareSection(report),
    capacitySection(report),
    paretoSection(report),
    finished ? latencySection(report) : null,
    finished ? attributionSection(report) : null,
    stepped ? timeSection(report) : null,
    stepped ? engineSection(report) : null,
    configurationSection(report),
  ];
  for (const part of parts) if (part) page.append(part);
}

show(JSON.parse(document.getElementById("report-data")!.textContent!) as Report);
