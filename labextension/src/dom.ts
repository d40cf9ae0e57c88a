/** Small DOM nodes. Strings become text nodes, never markup. */

import { visible } from "./text/hidden";

export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  className = "",
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const node = document.createElement(name);
  // Not one that submits a form of the page around.
  if (node instanceof HTMLButtonElement) node.type = "button";
  if (className) node.className = className;
  node.append(...children.map((child) => (typeof child === "string" ? visible(child) : child)));
  return node;
}

/** A sentence whose names in backticks become code. */
export function quoted(sentence: string): HTMLElement[] {
  return sentence.split("`").map((part, i) => element(i % 2 ? "code" : "span", "", part));
}

export function button(text: string, label: string, pressed: () => void): HTMLButtonElement {
  const node = element("button", "jxs-icon", text);
  node.title = label;
  node.setAttribute("aria-label", label);
  node.addEventListener("click", pressed);
  return node;
}

/** A toggle button. */
export function toggle(
  text: string,
  title: string,
  on: boolean,
  changed: (on: boolean) => void,
): HTMLButtonElement {
  const node = element("button", "jxs-toggle", text);
  node.title = title;
  node.setAttribute("aria-pressed", String(on));
  node.addEventListener("click", () => {
    const next = node.getAttribute("aria-pressed") !== "true";
    node.setAttribute("aria-pressed", String(next));
    changed(next);
  });
  return node;
}

export function select(
  label: string,
  names: readonly string[],
  changed: (index: number) => void,
): HTMLSelectElement {
  const node = element("select", "jxs-select");
  node.setAttribute("aria-label", label);
  for (const [index, name] of names.entries()) {
    const option = element("option", "", name);
    option.value = String(index);
    node.append(option);
  }
  node.addEventListener("change", () => changed(Number(node.value)));
  return node;
}

/** A unique prefix for ids: one document may hold several viewers. */
export function uid(): string {
  return `jxs-${Math.random().toString(36).slice(2, 10)}`;
}
