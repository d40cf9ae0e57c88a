import { expect, test } from "vitest";
import { Anchors, between, Equations, splitLines } from "../src/links";
import { type ProgramJson, STAGE_KINDS } from "../src/schema/report";
import { links, record } from "./golden";

const program = record.programs[0] as ProgramJson;
const equations = new Equations(program.equations);
const anchors = new Map(
  STAGE_KINDS.map((kind) => [
    kind,
    new Anchors(program.stages.find((stage) => stage.kind === kind)?.anchors ?? []),
  ]),
);

test("a source line leads to the lines that Python says", () => {
  const found: typeof links.from_source = {};
  for (const [kind, there] of anchors) {
    for (const source of record.sources.keys()) {
      const rows: Record<string, [number[], boolean]> = {};
      for (const [line, ids] of equations.byLine(source)) {
        const lines = there.lines(ids);
        const exact = lines.every((each) => there.byLine.get(each)?.exact);
        if (lines.length) rows[line] = [lines, exact];
      }
      found[`${kind} ${source}`] = rows;
    }
  }
  expect(found).toEqual(links.from_source);
});

test("a line of a stage leads to the lines of another that Python says", () => {
  for (const [start, here] of anchors) {
    for (const [end, there] of anchors) {
      if (start === end) continue;
      const found: Record<string, number[]> = {};
      for (const [line, origin] of here.byLine) {
        found[line] = between(equations, origin.equations, there);
      }
      expect(found).toEqual(links.between[`${start} ${end}`]);
    }
  }
});

test("the check of links can fail", () => {
  const stage = program.stages.find(({ kind }) => kind === "jaxpr");
  const moved = stage?.anchors.map((each) => ({ ...each, line: each.line + 1 })) ?? [];
  const wrong = new Anchors(moved);
  const [line, ids] = [...equations.byLine(0)][0] as [number, number[]];
  expect(wrong.lines(ids)).not.toEqual(links.from_source["jaxpr 0"]?.[line]?.[0]);
});

test("without callers, an equation belongs to its innermost line alone", () => {
  const own = new Equations(program.equations, false);
  const total = program.equations.filter((each) => each.frames.length).length;
  const places = [0, 1].flatMap((source) => [...own.homes(source).keys()]);
  expect(places).toHaveLength(total);
  expect(new Set(places).size).toBe(total);
  // Line 5 of the cell only calls `standardize`, which is in another source.
  expect(equations.byLine(0).get(5)?.length).toBeGreaterThan(0);
  expect(own.byLine(0).get(5)).toBeUndefined();
});

test("a column leads to the smallest expression around it", () => {
  const column = splitLines(record.sources[0]?.text ?? "")[2]?.indexOf("@") ?? -1;
  const found = [...equations.at(0, 3, column)].map((id) => equations.byId.get(id)?.primitive);
  expect(found).toEqual(["dot_general"]);
});

test("lines are cut as Python cuts them", () => {
  expect(splitLines("a\nb\r\nc\rd\n")).toEqual(["a", "b", "c", "d"]);
  expect(splitLines("")).toEqual([]);
  expect(splitLines("\n\n")).toEqual(["", ""]);
  expect(splitLines("a\u000cb\u2028c")).toEqual(["a\u000cb\u2028c"]);
});
