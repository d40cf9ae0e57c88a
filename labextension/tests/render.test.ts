import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { renderReport } from "../src/render";
import { SCHEMA } from "../src/schema/report";
import { record } from "./golden";

const host = { name: "widget" } as const;

function payload(changes: object = {}): object {
  const data = { record, programs: [], tabs: [], findings: "", first: ["jit(cell)", "cpu:0"] };
  const packed = gzipSync(JSON.stringify(data)).toString("base64");
  return {
    schema: SCHEMA,
    version: "",
    id: "7",
    summary: "jit(cell) · cpu:0 · 4 µs",
    data: packed,
    ...changes,
  };
}

function place(): HTMLElement {
  return document.body.appendChild(document.createElement("div"));
}

test("the first line is there before anything is unpacked", () => {
  const parent = place();
  const rendered = renderReport(parent, payload(), host);
  expect(parent.querySelector("h1")?.textContent).toBe("jit(cell)");
  const region = parent.querySelector("[role=region]");
  expect(region?.getAttribute("aria-label")).toBe("jaxscope report: jit(cell)");
  expect([...parent.querySelectorAll("li")].map((item) => item.textContent)).toEqual([
    "cpu:0",
    "4 µs",
  ]);
  rendered.dispose();
});

test.each([
  [payload({ data: "H4sI" }), /truncated or damaged: it cannot be unpacked\. Save it again/],
  [
    payload({ schema: 99, version: "9.9" }),
    /written by jaxscope 9\.9 in schema 99.*upgrade jaxscope/,
  ],
  [{ some: "json" }, /not a jaxscope report/],
  [null, /not a jaxscope report/],
])("what cannot be read is said in a sentence, under what is known", async (wrong, words) => {
  const parent = place();
  const rendered = renderReport(parent, wrong, host);
  await rendered.ready;
  expect(parent.querySelector("[role=alert]")?.textContent).toMatch(words);
  expect(parent.querySelectorAll("h1")).toHaveLength(1);
  expect(rendered.model).toBeUndefined();
  rendered.dispose();
  expect(parent.childNodes).toHaveLength(0);
});

const CELL = {
  key: "profile",
  title: "Profile",
  sections: [{ program: null, heading: "Time of the cell", markup: "<p>Python was on line 1</p>" }],
};
const TIME = { seconds: 0.1, share: 0.75, low: 0.1, high: 0.1, estimate: false };

test.each([
  ["a cell that left no program opens with its time", [], [CELL], "Profile"],
  ["without a time it opens with the source", [], [], "Code"],
  ["with a program it opens with the source", record.programs, [CELL], "Code"],
])("%s", async (_, programs, tabs, open) => {
  const data = {
    record: { ...record, programs, notes: ["`f` was not called."] },
    programs: [],
    tabs,
    findings: "",
    first: ["cell", "nothing was compiled", "2 ms"],
  };
  const more = { nothing: "No function ran.", lines: { 1: { time: TIME } } };
  const packed = gzipSync(JSON.stringify({ ...data, ...more })).toString("base64");
  const parent = place();
  const rendered = renderReport(parent, payload({ data: packed }), host);
  await rendered.ready;
  expect(parent.querySelector("[role=tab][aria-selected=true]")?.textContent).toBe(open);
  expect(parent.querySelector(".jxs-toolbar") !== null).toBe(programs.length > 0);
  const said = [...parent.querySelectorAll(".jxs-nothing > p")].map((p) => p.textContent);
  // The notes of the run take the place of the program.
  const beside = open === "Code" && !programs.length;
  const why = beside ? ["f was not called.", "No function ran."] : ["No function ran."];
  expect(said).toEqual(programs.length ? [] : why);
  const note = programs.length ? ".jxs-status" : ".jxs-note";
  expect(parent.querySelector(note)?.textContent).toBe(beside ? undefined : "f was not called.");
  expect(parent.querySelector(".jxs-lead")?.textContent).toBe(
    beside ? "nothing was compiled" : "2 ms",
  );
  rendered.dispose();
});

test("what stands on top is of the chosen program", async () => {
  const [first] = record.programs;
  const programs = [
    { title: "jit(f) · x: float32[1]", first: ["jit(f)", "cpu:0", "1 µs a call"] },
    { title: "jit(f) · x: float32[2]", first: ["jit(f)", "cpu:0", "2 µs a call"] },
  ];
  const data = {
    record: { ...record, programs: [first, first] },
    programs,
    tabs: [],
    findings: "",
    first: ["jit(f)", "cpu:0", "1 µs a call", "+1 more signature"],
  };
  const parent = place();
  const packed = gzipSync(JSON.stringify(data)).toString("base64");
  const rendered = renderReport(parent, payload({ data: packed }), host);
  await rendered.ready;
  const chooser = parent.querySelector<HTMLSelectElement>("header select");
  expect([...(chooser?.options ?? [])].map((option) => option.text)).toEqual(
    programs.map(({ title }) => title),
  );
  const facts = () => [...parent.querySelectorAll(".jxs-facts > li")].map((li) => li.textContent);
  expect(facts()).toEqual(["cpu:0", "1 µs a call", "+1 more signature"]);
  for (const [index, expected] of [
    ["1", ["cpu:0", "2 µs a call"]],
    ["0", ["cpu:0", "1 µs a call", "+1 more signature"]],
  ] as const) {
    if (chooser) chooser.value = index;
    chooser?.dispatchEvent(new Event("change"));
    expect(facts()).toEqual(expected);
    expect(parent.querySelector(".jxs-lead")?.textContent).toBe(expected[1]);
  }
  rendered.dispose();
});

test("a viewer that is closed before it was unpacked draws nothing later", async () => {
  const parent = place();
  const rendered = renderReport(parent, payload(), host);
  rendered.dispose();
  await rendered.ready;
  expect(parent.childNodes).toHaveLength(0);
  expect(rendered.model).toBeUndefined();
});

test("a name in the first line is code, and has no backticks", () => {
  const parent = place();
  const rendered = renderReport(parent, payload({ summary: "cell · runs `step` again" }), host);
  expect(parent.querySelector(".jxs-facts")?.textContent).toBe("runs step again");
  expect(parent.querySelector(".jxs-facts code")?.textContent).toBe("step");
  expect(parent.querySelector<HTMLElement>("header")?.title).toBe("cell · runs step again");
  rendered.dispose();
});

test("words of a report are text and never markup", () => {
  const parent = place();
  const rendered = renderReport(
    parent,
    payload({ summary: "<img onerror=alert(1)> · \u202e" }),
    host,
  );
  expect(parent.querySelector("h1")?.textContent).toBe("<img onerror=alert(1)>");
  expect(parent.querySelector("li")?.textContent).toBe("\\u202e");
  expect(parent.querySelector("img")).toBeNull();
  rendered.dispose();
});

test("an output is compact until it is expanded; what is alone takes all the room", async () => {
  const programs = record.programs;
  const data = { record: { ...record, programs }, programs: [], tabs: [], findings: "", first: [] };
  const packed = gzipSync(JSON.stringify(data)).toString("base64");
  const parent = place();
  const openBeside = () => parent.setAttribute("data-beside", "yes");
  const rendered = renderReport(parent, payload({ data: packed }), { name: "lab", openBeside });
  await rendered.ready;
  const root = parent.querySelector(".jxs-root");
  expect(root?.classList.contains("jxs-compact")).toBe(true);
  const [expand, beside] = parent.querySelectorAll<HTMLButtonElement>(".jxs-room button");
  expand?.click();
  expect([root?.classList.contains("jxs-compact"), expand?.getAttribute("aria-expanded")]).toEqual([
    false,
    "true",
  ]);
  expand?.click();
  expect(root?.classList.contains("jxs-compact")).toBe(true);
  beside?.click();
  expect(parent.getAttribute("data-beside")).toBe("yes");
  rendered.fill();
  expect(root?.className).toBe("jxs-root jxs-fills");
  expect(parent.querySelector(".jxs-room")).toBeNull();
  rendered.dispose();
});
