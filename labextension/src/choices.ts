/** Tables from Python: one of several at a time, sorted by a click on a head, ten rows at first. */

import { element } from "./dom";

/** Rows of a table until all are asked for. */
const ROWS = 10;

/** Adjacent parts, of which one is shown: a button for each. */
export function switchChoices(root: HTMLElement): void {
  for (const group of root.querySelectorAll<HTMLElement>(".choices")) {
    const parts = [...group.children].filter((each) => each instanceof HTMLElement);
    const buttons = parts.map((part) => {
      const node = element("button", "jxs-choice", part.getAttribute("aria-label") ?? "");
      node.addEventListener("click", () => show(part));
      return node;
    });
    const show = (chosen: HTMLElement | undefined) => {
      for (const [index, part] of parts.entries()) {
        part.hidden = part !== chosen;
        buttons[index]?.setAttribute("aria-pressed", String(part === chosen));
      }
    };
    const bar = element("div", "jxs-choices", ...buttons);
    bar.setAttribute("role", "group");
    bar.setAttribute("aria-label", "Table by");
    group.prepend(bar);
    show(parts[0]);
  }
}

/** A button in each head; the first click puts the largest number first. */
export function sortable(table: HTMLTableElement): void {
  const heads = [...table.querySelectorAll("thead th")];
  const body = table.querySelector("tbody");
  heads.forEach((head, column) => {
    if (!head.textContent || !body) return;
    const button = element("button", "jxs-sort", head.textContent);
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const before = head.getAttribute("aria-sort");
      const rows = rowsOf(table);
      const numeric = rows.some((row) => figureOf(row, column) !== undefined);
      const down = before ? before === "ascending" : numeric;
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const hidden = rows.filter((row) => row.hidden).length;
      const sign = down ? -1 : 1;
      rows.sort((a, b) => compare(a, b, column, numeric, sign));
      // The same number of rows as before, now the first ones.
      for (const [index, row] of rows.entries()) row.hidden = index >= rows.length - hidden;
      body.append(...rows);
    });
  });
}

function rowsOf(table: HTMLTableElement): HTMLTableRowElement[] {
  return [...table.querySelectorAll<HTMLTableRowElement>("tbody > tr")];
}

function figureOf(row: HTMLTableRowElement, column: number): number | undefined {
  const value = row.children[column]?.getAttribute("data-value") ?? null;
  return value === null ? undefined : Number(value);
}

/** Rows without the figure stay last in either direction. */
function compare(
  a: HTMLTableRowElement,
  b: HTMLTableRowElement,
  column: number,
  numeric: boolean,
  sign: number,
): number {
  if (!numeric) {
    const text = (row: HTMLTableRowElement) => row.children[column]?.textContent ?? "";
    return sign * text(a).localeCompare(text(b));
  }
  const [x = Number.NaN, y = Number.NaN] = [figureOf(a, column), figureOf(b, column)];
  if (Number.isNaN(x) || Number.isNaN(y)) return Number(Number.isNaN(x)) - Number(Number.isNaN(y));
  return sign * (x - y);
}

/** Hides the rows of a long table behind a button, except those of a source. */
export function shorten(table: HTMLTableElement): void {
  const rows = rowsOf(table);
  if (rows.length <= ROWS + 2 || table.classList.contains("lines")) return;
  for (const row of rows.slice(ROWS)) row.hidden = true;
  const button = element("button", "jxs-button", `Show all ${rows.length} rows`);
  button.addEventListener("click", () => {
    for (const row of rows) row.hidden = false;
    button.remove();
  });
  table.after(button);
}
