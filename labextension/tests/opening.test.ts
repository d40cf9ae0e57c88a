import { expect, test } from "vitest";
import { openingLine as opening } from "../src/ir/opening";
import { splitLines } from "../src/links";
import type { InstructionFiguresJson, StageKind } from "../src/schema/report";

const HLO =
  "HloModule m\n\n%inner (a: f32[]) -> f32[] {\n}\n\nENTRY %main (a: f32[]) -> f32[] {\n}";

function openingLine(
  kind: StageKind,
  text: string,
  rows: Record<number, InstructionFiguresJson>,
): number {
  return opening(kind, splitLines(text), rows);
}

function row(share?: number, bytes = 0): InstructionFiguresJson {
  return { shape: "f32[]", flops: 0, bytes, times: 1, ...(share === undefined ? {} : { share }) };
}

test("HLO opens at its entry computation, other stages at their first line", () => {
  expect(openingLine("hlo", HLO, {})).toBe(6);
  expect(openingLine("optimized_hlo", HLO, {})).toBe(6);
  expect(openingLine("optimized_hlo", HLO.replaceAll("\n", "\r\n"), {})).toBe(6);
  expect(openingLine("optimized_hlo", "ENTRY %main {\n}", {})).toBe(1);
  expect(openingLine("optimized_hlo", "  an %ENTRY of a name", {})).toBe(1);
  expect(openingLine("jaxpr", HLO, {})).toBe(1);
  expect(openingLine("stablehlo", HLO, {})).toBe(1);
});

test("a profiled program opens at the instruction that takes the most time", () => {
  const rows = { 3: row(0.2), 4: row(0.7), 7: row(0, 1e9), 8: row(undefined, 1e9) };
  expect(openingLine("optimized_hlo", HLO, rows)).toBe(4);
  expect(openingLine("hlo", HLO, rows)).toBe(6);
  expect(openingLine("optimized_hlo", HLO, { 7: row(0, 1e9), 8: row(undefined, 1e9) })).toBe(6);
});
