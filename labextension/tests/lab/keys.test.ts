import { expect, test } from "vitest";
import { belongsToReport, keepKeys } from "../../src/lab/keys";

const SUPPRESS = "data-lm-suppress-shortcuts";

test("a lone key belongs to the report, a command to JupyterLab", () => {
  const key = (key: string, more = {}) =>
    belongsToReport(new KeyboardEvent("keydown", { key, ...more }));
  expect([key("x"), key("ArrowDown"), key("Enter"), key("F", { shiftKey: true })]).toEqual([
    true,
    true,
    true,
    true,
  ]);
  expect([key("s", { ctrlKey: true }), key("Enter", { shiftKey: true })]).toEqual([false, false]);
});

test("only what is in a report is kept from JupyterLab, and each key anew", () => {
  keepKeys(window);
  const report = document.createElement("div");
  report.className = "jxs-lab-report";
  const button = document.createElement("button");
  report.append(button);
  document.body.append(report);
  const press = (more: KeyboardEventInit) =>
    button.dispatchEvent(new KeyboardEvent("keydown", { bubbles: true, ...more }));
  press({ key: "x" });
  expect(button.hasAttribute(SUPPRESS)).toBe(true);
  press({ key: "s", ctrlKey: true });
  expect(button.hasAttribute(SUPPRESS)).toBe(false);
  document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "x" }));
  expect(document.body.hasAttribute(SUPPRESS)).toBe(false);
});
