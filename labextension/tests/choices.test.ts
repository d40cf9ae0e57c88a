import { expect, test } from "vitest";
import { shorten, sortable, switchChoices } from "../src/choices";

function root(markup: string): HTMLElement {
  const node = document.createElement("div");
  node.innerHTML = markup;
  return node;
}

function first(table: HTMLElement): string[] {
  return [...table.querySelectorAll<HTMLElement>("tbody tr")]
    .filter((row) => !row.hidden)
    .map((row) => row.firstElementChild?.textContent ?? "");
}

const ROW = (name: string, value: number) =>
  `<tr><td>${name}</td><td data-value="${value}">${value} s</td></tr>`;
const HEAD = "<thead><tr><th>line</th><th>time</th></tr></thead>";

test("one of several tables is shown, and a button shows the next one", () => {
  const node = root(
    '<div class="choices"><section aria-label="line">a</section><section aria-label="equation">b</section></div>',
  );
  switchChoices(node);
  const shown = () =>
    [...node.querySelectorAll("section")].filter((each) => !each.hidden).map((s) => s.textContent);
  expect(shown()).toEqual(["a"]);
  const [, other] = node.querySelectorAll("button");
  expect(other?.textContent).toBe("equation");
  other?.click();
  expect(shown()).toEqual(["b"]);
  expect(other?.getAttribute("aria-pressed")).toBe("true");
});

test("a head sorts by its figure, the largest first, rows without one last", () => {
  const rows = [ROW("a", 9), ROW("b", 100), ROW("c", Number.NaN), ROW("d", 20)].join("");
  const node = root(`<table>${HEAD}<tbody>${rows}</tbody></table>`);
  const table = node.querySelector("table") as HTMLTableElement;
  sortable(table);
  const [byName, byTime] = table.querySelectorAll("button");
  byTime?.click();
  expect(first(table)).toEqual(["b", "d", "a", "c"]);
  expect(byTime?.closest("th")?.getAttribute("aria-sort")).toBe("descending");
  byTime?.click();
  expect(first(table)).toEqual(["a", "d", "b", "c"]);
  byName?.click();
  expect(first(table)).toEqual(["a", "b", "c", "d"]);
  expect(byTime?.closest("th")?.hasAttribute("aria-sort")).toBe(false);
});

test("a long table has ten rows until all are asked for, also after sorting", () => {
  const rows = Array.from({ length: 30 }, (_, i) => ROW(String(i), i)).join("");
  const node = root(`<table>${HEAD}<tbody>${rows}</tbody></table>`);
  const table = node.querySelector("table") as HTMLTableElement;
  sortable(table);
  shorten(table);
  expect(first(table)).toHaveLength(10);
  table.querySelectorAll("button")[1]?.click();
  expect(first(table)[0]).toBe("29");
  expect(first(table)).toHaveLength(10);
  const more = node.querySelector<HTMLButtonElement>("table + button");
  expect(more?.textContent).toBe("Show all 30 rows");
  more?.click();
  expect(first(table)).toHaveLength(30);
  expect(node.querySelector("table + button")).toBeNull();
});
