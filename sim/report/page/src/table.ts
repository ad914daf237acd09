import { el } from "./dom";

export interface Table {
  name: string; // of the CSV file
  head: string[];
  rows: (string | number | null)[][];
  show?: (value: string | number | null, column: number) => string;
}

const kMostRowsShown = 250;

function csvCell(value: string | number | null): string {
  if (value === null) return "";
  const text = String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function csvText(table: Table): string {
  return [table.head, ...table.rows].map((row) => row.map(csvCell).join(",")).join("\n") + "\n";
}

function download(table: Table): void {
  const url = URL.createObjectURL(new Blob([csvText(table)], { type: "text/csv" }));
  const link = el<HTMLAnchorElement>("a", { href: url, download: `${table.name}.csv` });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

export function csvButton(table: () => Table, title: string): HTMLElement {
  const button = el("button.csv", { type: "button", title: `Download ${title} as CSV` }, "CSV");
  button.setAttribute("aria-label", `Download ${title} as CSV`);
  button.addEventListener("click", () => download(table()));
  return button;
}

/** The table itself: every n-th row of a long one. */
export function tableNode(table: Table, caption: string): HTMLElement {
  const every = Math.ceil(table.rows.length / kMostRowsShown);
  const show = table.show ?? ((value) => (value === null ? "–" : String(value)));
  const head = el("tr", {}, ...table.head.map((text) => el("th", { scope: "col" }, text)));
  const body = el("tbody");
  for (let i = 0; i < table.rows.length; i += every) {
    const cells = table.rows[i].map((value, column) =>
      column === 0 ? el("th", { scope: "row" }, show(value, 0)) : el("td", {}, show(value, column)));
    body.append(el("tr", {}, ...cells));
  }
  const node = el("table", {}, el("caption", {}, caption), el("thead", {}, head), body);
  const wrapped = el("div.scroll", { tabindex: "0", role: "region", "aria-label": caption }, node);
  if (every === 1) return wrapped;
  const note = `Every ${every}. of ${table.rows.length} rows; the CSV has them all.`;
  return el("div", {}, wrapped, el("p.note", {}, note));
}

/** "As a table", filled in when it is opened, beside the download. */
export function tableFallback(table: () => Table, title: string, summary = "As a table"): HTMLElement {
  const details = el<HTMLDetailsElement>("details.fallback", {}, el("summary", {}, summary));
  details.addEventListener("toggle", () => {
    if (details.open && details.childElementCount === 1) details.append(tableNode(table(), title));
  });
  return el("div.under", {}, details, csvButton(table, title));
}
