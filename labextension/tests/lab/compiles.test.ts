import { expect, test } from "vitest";
import {
  byCell,
  groups,
  inCell,
  isAvoidable,
  matches,
  Numbers,
  Storms,
  stretches,
  totalLine,
  totals,
} from "../../src/lab/compiles";
import { stripOf } from "../../src/lab/strip";
import type { CompileEventJson } from "../../src/schema/compiles";
import { event } from "./events";

test("the total says how many compiled, how many again, and for how long", () => {
  const events = [event(1), event(2, { recompile: true }), event(3, { recompile: true })];
  expect(totalLine(totals(events))).toBe("3 compiles · 2 recompiles · 3 s");
});

test("what did not happen is not said", () => {
  expect(totalLine(totals([]))).toBe("0 compiles");
  expect(totalLine(totals([event(1)]))).toBe("1 compile · 1 s");
});

test("eager operations are counted apart", () => {
  const events = [event(1), event(2, { kind: "eager" }), event(3, { kind: "eager" })];
  const words = "1 compile · 1 s · 2 eager operations, 2 s";
  expect(totalLine(totals(events))).toBe(words);
  expect(totalLine(totals(events.slice(1)))).toBe("2 eager operations, 2 s");
});

test("a badge counts what can be avoided, and an eager operation where a loop repeats it", () => {
  const events = [
    event(1, { recompile: true }),
    event(2, { recompile: true, avoidable: true }),
    event(3, { kind: "eager" }),
  ];
  const counted = (storms: Storms) =>
    events.filter((each) => isAvoidable(each, storms)).map(({ serial }) => serial);
  expect(counted(stormy())).toEqual([2]);
  expect(counted(stormy([1, [3], "`sin` 8 times"]))).toEqual([2, 3]);
});

test("what can be changed comes first, and the eager operations of a cell are one entry", () => {
  const events = [
    event(1),
    event(2, { recompile: true }),
    event(3, { kind: "eager" }),
    event(4, { kind: "eager", place: "In [3]:9" }),
    event(5, { kind: "eager", cell: 4, cell_id: "def" }),
    event(6),
  ];
  const found = groups(events, stormy()).map(({ section, events }) => [
    section,
    events.map(({ serial }) => serial),
  ]);
  expect(found).toEqual([
    ["again", [2]],
    ["first", [6]],
    ["first", [1]],
    ["eager", [5]],
    ["eager", [4, 3]],
  ]);
});

test("the strip has the time of each cell, and no more compilation than that", () => {
  const runs = [
    { cell: 3, seconds: 1.5 },
    { cell: 4, seconds: 2 },
    { cell: 5, seconds: 0.5 },
  ];
  const events = [
    event(1),
    event(2),
    event(3, { cell: 5, compile_s: 0 }),
    event(4, { cell: null }),
  ];
  const found = stretches(runs, events);
  expect(found.map(({ compiling }) => compiling)).toEqual([1.5, 0, 0.5]);
  const strip = stripOf(found);
  expect(strip?.textContent).toBe("cells 4 s, 2 s of it compiling");
  const [first] = strip?.querySelectorAll<HTMLElement>(".jxs-strip-cell") ?? [];
  expect(first?.title).toBe("In [3]: 1.5 s, 1.5 s of it compiling");
  expect(stripOf([])).toBeNull();
});

function stormy(...news: [number, number[], string][]): Storms {
  const storms = new Storms();
  for (const [storm, serials, pattern] of news)
    storms.update({ storm, serials, pattern, fix: "Pad it." });
  return storms;
}

function serialsOf(events: CompileEventJson[], storms: Storms): number[][] {
  return groups(events, storms).map((group) => group.events.map(({ serial }) => serial));
}

test("the newest stands first", () => {
  const events = [event(1), event(3, { fun_name: "f" }), event(2, { fun_name: "g" })];
  expect(serialsOf(events, stormy())).toEqual([[3], [2], [1]]);
});

test("what compiles after jaxscope was loaded again is newer, and of no storm of before", () => {
  const numbers = new Numbers();
  const storms = new Storms();
  const before = [1, 2, 3].map((serial) => numbers.event(event(serial)));
  const news = { storm: 1, pattern: "`x` grows by 1 each time", fix: "Pad it." };
  storms.update(numbers.storm({ ...news, serials: [1, 2, 3] }));
  numbers.again();
  const after = [2, 1].map((serial) => numbers.event(event(serial)));
  expect(serialsOf([...before, ...after], storms)).toEqual([[3, 2, 1], [5], [4]]);
  storms.update(numbers.storm({ ...news, serials: [1, 2] }));
  expect(serialsOf([...before, ...after], storms)).toEqual([
    [5, 4],
    [3, 2, 1],
  ]);
});

test("a storm is one entry with its pattern, where its newest stands", () => {
  const events = [event(1), event(2), event(3, { fun_name: "f" }), event(4), event(5)];
  const storms = stormy([1, [1, 2, 4], "`x` grows by 1 each time"], [1, [5], "`x` grows by 1"]);
  expect(serialsOf(events, storms)).toEqual([[5, 4, 2, 1], [3]]);
  const [storm] = groups(events, storms);
  expect(storm?.storm?.pattern).toBe("`x` grows by 1");
  expect(storm?.key).toBe("storm-1");
});

test("a storm that was taken back, or of which one compile is shown, is told one by one", () => {
  const events = [event(1), event(2), event(3)];
  const taken = stormy([1, [1, 2, 3], "`x` grows"], [1, [], ""]);
  expect(serialsOf(events, taken)).toEqual([[3], [2], [1]]);
  const [one] = groups(events.slice(2), stormy([1, [1, 2, 3], "`x` grows"]));
  expect(one?.storm).toBeNull();
});

test("a filter looks for every word, in any case", () => {
  const one = event(1, { cause: "`x` has another shape" });
  expect(matches(one, "STEP shape", null)).toBe(true);
  expect(matches(one, "step dtype", null)).toBe(false);
  expect(matches(one, "  ", null)).toBe(true);
  const storm = { storm: 1, serials: [1], pattern: "`x` grows by 1 each time", fix: "" };
  expect(matches(one, "step grows", storm)).toBe(true);
});

test("only a line of the notebook is a line of its cell", () => {
  expect(inCell(event(1))).toBe(true);
  expect(inCell(event(1, { place: "train.py:12" }))).toBe(false);
  expect(inCell(event(1, { cell_id: "" }))).toBe(false);
});

test("compiles are found by the cell that ran", () => {
  const found = byCell([
    event(1),
    event(2, { cell_id: "def" }),
    event(3),
    event(4, { cell_id: "" }),
  ]);
  expect([...found].map(([id, events]) => [id, events.length])).toEqual([
    ["abc", 2],
    ["def", 1],
  ]);
});
