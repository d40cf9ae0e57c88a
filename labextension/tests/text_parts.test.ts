import { expect, test } from "vitest";
import { toCharacters, toUnits } from "../src/text/columns";
import { cutOff, LONGEST, spelledOut, visible } from "../src/text/hidden";
import { closed, type Hideable, hideable } from "../src/text/hide";
import type { Language } from "../src/text/tokens";

const ALL: ReadonlySet<Hideable> = new Set(["metadata", "layouts"]);

/** The visible rest of a line. */
function inSight(line: string, language: Language, what = ALL): string {
  let rest = "";
  let at = 0;
  for (const [from, to] of hideable(line, language, what)) {
    rest += line.slice(at, from);
    at = to;
  }
  return rest + line.slice(at);
}

test("metadata and layouts of HLO leave the instruction", () => {
  const line =
    '  ROOT %a = (s32[], f32[4]{0}) tuple(%b), frontend_attributes={k="}"}, metadata={op_name="jit(f)/\\"{x" source_line=3}, calls=%c';
  expect(inSight(line, "hlo")).toBe("  ROOT %a = (s32[], f32[4]) tuple(%b), calls=%c");
  expect(inSight(line, "hlo", new Set(["layouts"]))).toContain("metadata={");
  expect(inSight(line, "hlo", new Set(["metadata"]))).toContain("f32[4]{0}");
  expect(inSight(line, "hlo", new Set())).toBe(line);
});

test("dimensions are no layout", () => {
  const line = "  %b = f32[4,8]{1,0:T(8,128)} broadcast(%c), dimensions={0,1}";
  expect(inSight(line, "hlo")).toBe("  %b = f32[4,8] broadcast(%c), dimensions={0,1}");
});

test("the layout of a module's entry goes with its brackets", () => {
  const line =
    "HloModule jit_f, is_scheduled=true, entry_computation_layout={(f32[2]{0})->f32[]}, x=1";
  expect(inSight(line, "hlo")).toBe("HloModule jit_f, is_scheduled=true, x=1");
});

test("places of MLIR are hidden, however deep their brackets", () => {
  const line =
    '    %1 = stablehlo.tanh %0 : tensor<f32> loc(fused["a)"(#loc1), callsite("f" at #loc2)])';
  expect(inSight(line, "mlir")).toBe("    %1 = stablehlo.tanh %0 : tensor<f32>");
  expect(inSight('#loc1 = loc("cell.py":1:2)', "mlir")).toBe("");
});

test("what does not close on its line stays in sight", () => {
  expect(inSight('  %a = f32[] add(%b), metadata={op_name="x', "hlo")).toContain("metadata");
  expect(closed("{(}", 0)).toBe(-1);
});

test("Python and jaxprs have no metadata", () => {
  expect(inSight("metadata={1: 2}", "python")).toBe("metadata={1: 2}");
  expect(inSight("metadata={1: 2}", "jaxpr")).toBe("metadata={1: 2}");
});

test("characters that cannot be seen are spelled out as Python spells them", () => {
  expect(visible("a\u202eb\x1b[0m\u200b\ufeff\ud800\u{e0041}\x85")).toBe(
    "a\\u202eb\\x1b[0m\\u200b\\ufeff\\ud800\\U000e0041\\x85",
  );
  expect(visible("a\tb é 𝛼 \u05d0")).toBe("a\tb é 𝛼 \u05d0");
});

test("hidden characters keep their places, and neighbors stand together", () => {
  expect(spelledOut("ab\u202e\u2066c\x00")).toEqual([
    { from: 2, to: 4, text: "\\u202e\\u2066" },
    { from: 5, to: 6, text: "\\x00" },
  ]);
  expect(spelledOut("plain\ttext")).toEqual([]);
});

test("a line of nothing but hidden characters is spelled out in part", () => {
  const found = spelledOut("a\x00".repeat(2000));
  expect(found).toHaveLength(200);
  expect(found[199]?.to).toBe(4000);
  expect(found[199]?.text).toMatch(/ … 3600 more characters$/);
});

test("a line of a million characters is cut, and says by how many", () => {
  expect(cutOff("x".repeat(LONGEST))).toBeNull();
  const cut = cutOff("x".repeat(1_000_000));
  expect(cut?.from).toBe(LONGEST);
  expect(cut?.text).toBe(" … 996\u202f000 more characters");
  expect(cutOff("x".repeat(LONGEST + 1))?.text).toBe(" … 1 more character");
});

test("columns count characters, units count halves of pairs", () => {
  const text = "a𝛼b𝛽c";
  expect([0, 1, 2, 3, 4, 5].map((column) => toUnits(text, column))).toEqual([0, 1, 3, 4, 6, 7]);
  expect([0, 1, 3, 4, 6].map((unit) => toCharacters(text, unit))).toEqual([0, 1, 2, 3, 4]);
  expect(toCharacters(text, 2)).toBe(1);
  expect(toUnits("abc", 2)).toBe(2);
});
