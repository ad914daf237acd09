type Child = Node | string | null | undefined | false;

/** el("p.note", {title: "x"}, "text", node): an element with classes, attributes and children. */
export function el<T extends HTMLElement = HTMLElement>(
  name: string,
  attributes: Record<string, string> = {},
  ...children: Child[]
): T {
  const [tag, ...classes] = name.split(".");
  const node = document.createElement(tag) as T;
  if (classes.length > 0) node.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  for (const child of children) if (child) node.append(child);
  return node;
}

let ids = 0;
export const freshId = (start: string): string => `${start}-${++ids}`;

/** A heading with an anchor, and what belongs below it. */
export function section(title: string, ...children: Child[]): HTMLElement {
  const id = freshId("section");
  return el("section", { "aria-labelledby": id }, el("h2", { id }, title), ...children);
}
