import { expect, test, vi } from "vitest";
import { type Host, TextAbsent } from "../src/host";
import { ReportModel } from "../src/model";
import type { ReportDataJson, TabJson } from "../src/schema/report";
import { findingsView } from "../src/views/findings";
import { tabView } from "../src/views/tab";

const SOURCES = ["a = 1\nb = 2\nc = 3\n", "d = 4\n"].map((text, i) => ({
  name: `s${i}`,
  text,
}));

function model(host: Partial<Host> = {}, data: Partial<ReportDataJson> = {}): ReportModel {
  const program = { name: "f", transforms: ["jit"], equations: [], stages: [], inexact_why: "" };
  const environment = { jaxscope: "", jax: "" };
  const record = { title: "cell", environment, findings: [], notes: [], schema: 1 };
  const payload = { schema: 1, version: "", id: "7", summary: "", data: "" };
  const whole: ReportDataJson = {
    record: { ...record, sources: SOURCES, programs: [program, program] },
    programs: [],
    tabs: [],
    findings: "",
    first: [],
    ...data,
  };
  return new ReportModel(payload, whole, { name: "page", ...host });
}

const TAB: TabJson = {
  key: "time",
  title: "Time",
  sections: [
    { program: 0, heading: "Time of f", markup: "<p>one</p>" },
    { program: 1, heading: "Time of g", markup: "<p>two</p>" },
    { program: null, heading: "All", markup: '<a data-source="1" data-line="1">1</a>' },
  ],
  figures: ["time_by_line"],
};

async function settled(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve));
}

test("a tab shows the sections of the chosen program and of the whole run", () => {
  const report = model();
  const { element } = tabView(report, TAB);
  expect([...element.querySelectorAll("h3")].map((h) => h.textContent)).toEqual([
    "Time of f",
    "All",
  ]);
  report.chooseProgram(1);
  expect(element.querySelector("p")?.textContent).toBe("two");
});

test("a tab without a section for the program says so", () => {
  const report = model();
  const { element } = tabView(report, { ...TAB, sections: TAB.sections.slice(0, 1) });
  report.chooseProgram(1);
  expect(element.textContent).toBe("“Time” has no section for this program.");
});

test("a line in a table leads to its source", () => {
  const report = model();
  const { element } = tabView(report, TAB);
  element.querySelector<HTMLButtonElement>(".jxs-link")?.click();
  expect([report.source, report.pinned?.line, report.pinned?.origin]).toEqual([1, 1, "tab"]);
});

test("a host that draws no figures says, last, how Python does", () => {
  const { element } = tabView(model(), { ...TAB, figures: ["stack", "roofline"] });
  expect(element.lastElementChild?.textContent).toBe(
    'Interactive figures, in a cell of their own: report.plot("stack"), report.plot("roofline")',
  );
  expect(tabView(model(), { ...TAB, figures: [] }).element.querySelector(".jxs-aside")).toBeNull();
  const drawn = tabView(model({ drawFigure: vi.fn() }), TAB).element;
  expect(drawn.querySelector(".jxs-aside")).toBeNull();
});

test("a link in a table is named by its line, whatever its cell says", () => {
  const link = (words: string) => `<td><a data-source="0" data-line="2">${words}</a></td>`;
  const markup = `<table><tr>${link("2")}${link("≈2")}${link("line 2")}${link("train.py:2")}</tr></table>`;
  const { element } = tabView(model(), { ...TAB, sections: [{ program: 0, heading: "", markup }] });
  const names = [...element.querySelectorAll("button")].map((each) =>
    each.getAttribute("aria-label"),
  );
  expect(names).toEqual(["Go to line 2", "Go to line ≈2", "Go to line 2", "Go to train.py:2"]);
});

test("short cells stay whole, long ones break", () => {
  const markup = `<table><tr><td>70.6 µs … 84.9 µs</td><td>${"word ".repeat(9)}</td></tr></table>`;
  const sections = [{ program: 0, heading: "", markup }];
  const { element } = tabView(model(), { ...TAB, sections });
  expect([...element.querySelectorAll("td")].map((cell) => cell.className)).toEqual([
    "jxs-short",
    "",
  ]);
});

test("figures are offered only where the host can draw them", () => {
  expect(tabView(model(), TAB).element.querySelector(".jxs-plot")).toBeNull();
  const { element } = tabView(model({ drawFigure: vi.fn() }), TAB);
  expect(element.querySelector(".jxs-plot button")?.textContent).toBe(
    "Show interactive figure: time by line",
  );
});

test("a figure is drawn once, hidden again, and removed with its tab", async () => {
  const remove = vi.fn();
  const drawFigure = vi.fn(async () => remove);
  const view = tabView(model({ drawFigure }), TAB);
  const button = view.element.querySelector<HTMLButtonElement>(".jxs-plot button");
  button?.click();
  expect(button?.disabled).toBe(true);
  await settled();
  expect(drawFigure.mock.calls[0]?.slice(1)).toEqual(["7", "time_by_line"]);
  expect(button?.getAttribute("aria-expanded")).toBe("true");
  button?.click();
  expect(remove).toHaveBeenCalledTimes(1);
  button?.click();
  await settled();
  view.dispose?.();
  expect(remove).toHaveBeenCalledTimes(2);
});

test("a figure that comes after its tab has gone is removed at once", async () => {
  const remove = vi.fn();
  const view = tabView(model({ drawFigure: async () => remove }), TAB);
  view.element.querySelector<HTMLButtonElement>(".jxs-plot button")?.click();
  view.dispose?.();
  await settled();
  expect(remove).toHaveBeenCalledTimes(1);
});

test.each([
  [new TextAbsent("no-kernel"), "no kernel is connected"],
  [new TextAbsent("restarted"), "The kernel was restarted"],
  [new TextAbsent("gone"), "no longer has this report"],
  [new TextAbsent("forgotten"), "The kernel was restarted, or jaxscope was reloaded"],
  [new TextAbsent("error", "boom"), "The kernel could not draw this figure. boom"],
  [new Error("plotly is missing."), "plotly is missing."],
])("a figure that cannot be had is said: %s", async (error, words) => {
  const view = tabView(model({ drawFigure: () => Promise.reject(error) }), TAB);
  const button = view.element.querySelector<HTMLButtonElement>(".jxs-plot button");
  button?.click();
  await settled();
  expect(view.element.querySelector("[role=status]")?.textContent).toContain(words);
  expect(button?.disabled).toBe(false);
});

const ADVICE =
  '<ol class="findings"><li><a class="place" data-source="0" data-line="2">line 2</a> two</li>' +
  '<li><a class="place" data-source="1" data-line="1">s1 line 1</a> one</li></ol>';
const FINDINGS = [
  { line: 2, source: 0, message: "two", fix: "" },
  { line: 1, source: 1, message: "one", fix: "" },
];

function advised(): ReportModel {
  const report = model({}, { findings: ADVICE });
  report.data.record.findings = FINDINGS;
  return report;
}

test("without advice there is nothing to see", () => {
  expect(findingsView(model()).element.hidden).toBe(true);
});

test("a finding leads to its line, and the line marks its finding", () => {
  const report = advised();
  const { element } = findingsView(report);
  expect(element.querySelector("h2")?.textContent).toBe("2 findings");
  const [, second] = element.querySelectorAll<HTMLButtonElement>("button");
  second?.click();
  expect([report.source, report.pinned?.line]).toEqual([1, 1]);
  const marked = () =>
    [...element.querySelectorAll("li")].map((li) => li.classList.contains("jxs-here"));
  expect(marked()).toEqual([false, true]);
  report.chooseSource(0);
  report.pin(report.ofSource(2));
  expect(marked()).toEqual([true, false]);
});
