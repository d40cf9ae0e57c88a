import { expect, test } from "vitest";
import {
  byCell,
  type CompileEvent,
  duration,
  groups,
  inCell,
  matches,
  totalLine,
  totals,
} from "../../src/lab/compiles";

function event(serial: number, more: Partial<CompileEvent> = {}): CompileEvent {
  return {
    serial,
    fun_name: "step",
    kind: "jit",
    cell: 3,
    cell_id: "abc",
    place: "In [3]:4",
    line: 4,
    text: "step(x)",
    trace_s: 0.25,
    lower_s: 0.25,
    compile_s: 0.5,
    ...more,
  };
}

test("the total says how many compiled, how many again, and for how long", () => {
  const events = [event(1), event(2, { recompile: true }), event(3, { recompile: true })];
  expect(totalLine(totals(events))).toBe("3 compiles · 2 recompiles · 3.0 s");
});

test("what did not happen is not said", () => {
  expect(totalLine(totals([]))).toBe("0 compiles");
  expect(totalLine(totals([event(1)]))).toBe("1 compile · 1.0 s");
});

test("the newest stands first", () => {
  const events = [event(1), event(3, { fun_name: "f" }), event(2, { fun_name: "g" })];
  expect(groups(events).map((group) => group.events.map(({ serial }) => serial))).toEqual([
    [3],
    [2],
    [1],
  ]);
});

test("three compiles of one function from one line are one entry, where the newest stands", () => {
  const events = [event(1), event(2), event(3, { fun_name: "f" }), event(4)];
  expect(groups(events).map((group) => group.events.map(({ serial }) => serial))).toEqual([
    [4, 2, 1],
    [3],
  ]);
});

test("compiles of no known place stay apart", () => {
  const nowhere = { place: undefined, line: null, text: undefined };
  expect(groups([1, 2, 3].map((serial) => event(serial, nowhere)))).toHaveLength(3);
});

test("a filter looks for every word, in any case", () => {
  const one = event(1, { cause: "`x` has another shape" });
  expect(matches(one, "STEP shape")).toBe(true);
  expect(matches(one, "step dtype")).toBe(false);
  expect(matches(one, "  ")).toBe(true);
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

test.each([
  [0, "0 s"],
  [0.0000423, "42 µs"],
  [0.0042, "4.2 ms"],
  [0.1234, "123 ms"],
  [4.13, "4.1 s"],
  [42.4, "42 s"],
  [125, "2 min 5 s"],
])("%d seconds read %s", (seconds, words) => expect(duration(seconds)).toBe(words));
