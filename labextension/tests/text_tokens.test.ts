import { expect, test } from "vitest";
import { quoted } from "../src/text/quotes";
import { type Language, tokens } from "../src/text/tokens";
import texts from "./data/texts.json";

const LANGUAGES: readonly [Language, string][] = [
  ["jaxpr", texts.jaxpr],
  ["mlir", texts.stablehlo],
  ["hlo", texts.optimized_hlo],
  ["python", "def f(x):\n    return x + 1.5e-3  # é\n"],
];

/** The parts of a line of one class. */
function of(css: string, line: string, language: Language): string[] {
  return tokens(line, language)
    .filter((token) => token[1] === css)
    .map((token) => token[0]);
}

test.each(LANGUAGES)("the tokens of %s joined are the line", (language, text) => {
  for (const line of text.split("\n")) {
    expect(
      tokens(line, language)
        .map(([part]) => part)
        .join(""),
    ).toBe(line);
  }
});

test("HLO names, types, operations, attributes and strings are told apart", () => {
  const line =
    '  ROOT %reduce_sum.0 = f32[8]{0} reduce(%p.7, %p.1), dimensions={0}, to_apply=%region_2.5, metadata={op_name="jit(f)/reduce_sum"}';
  expect(of("k", line, "hlo")).toEqual(["ROOT"]);
  expect(of("y", line, "hlo")).toEqual(["f32[8]{0}"]);
  expect(of("o", line, "hlo")).toEqual(["reduce"]);
  expect(of("m", line, "hlo")).toEqual(["%reduce_sum.0", "%p.7", "%p.1", "%region_2.5"]);
  expect(of("a", line, "hlo")).toEqual(["dimensions", "to_apply", "metadata", "op_name"]);
  expect(of("s", line, "hlo")).toEqual(['"jit(f)/reduce_sum"']);
});

test("every instruction of HLO has its operation", () => {
  const lines = texts.optimized_hlo.split("\n").filter((line) => line.startsWith("  "));
  expect(lines.length).toBeGreaterThan(50);
  for (const line of lines) expect(of("o", line, "hlo")).toHaveLength(1);
});

test("HLO names without a percent sign are names too", () => {
  expect(of("m", "  reduce_max.3 = f32[] parameter(0)", "hlo")).toEqual(["reduce_max.3"]);
  expect(of("m", "region_0.1 {", "hlo")).toEqual(["region_0.1"]);
});

test("StableHLO operations, types and values are told apart", () => {
  const line =
    "    %4 = stablehlo.reduce(%3#2 init: %cst_0) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32> loc(#loc5)";
  expect(of("o", line, "mlir")).toEqual(["stablehlo.reduce", "stablehlo.add"]);
  expect(of("y", line, "mlir")).toEqual(["tensor<4xf32>", "tensor<f32>", "tensor<f32>"]);
  expect(of("m", line, "mlir")).toEqual(["%4", "%3#2", "%cst_0"]);
  expect(of("c", line, "mlir")).toEqual(["loc(#loc5)"]);
});

test("jaxpr equations have their primitive, parameters and types", () => {
  const line = "    k:f32[] = reduce_sum[axes=(0,) out_sharding=None] f";
  expect(of("m", line, "jaxpr")).toEqual(["k"]);
  expect(of("y", line, "jaxpr")).toEqual(["f32[]"]);
  expect(of("o", line, "jaxpr")).toEqual(["reduce_sum"]);
  expect(of("a", line, "jaxpr")).toEqual(["axes", "out_sharding"]);
  expect(of("k", "{ lambda ; a:f32[2,4]. let", "jaxpr")).toEqual(["lambda", "let"]);
  expect(of("k", "  in (k,) }", "jaxpr")).toEqual(["in"]);
});

test("Python keywords in strings and comments are not keywords", () => {
  const line = "def f(x): return 'if' if x else \"else\"  # for";
  expect(of("k", line, "python")).toEqual(["def", "return", "if", "else"]);
  expect(of("s", line, "python")).toEqual(["'if'", '"else"']);
  expect(of("c", line, "python")).toEqual(["# for"]);
  expect(of("o", line, "python")).toEqual(["f"]);
  expect(of("m", "%%jaxjit -v", "python")).toEqual(["%%jaxjit"]);
});

test.each(LANGUAGES)("a line of %s that never closes what it opens ends at its end", (language) => {
  const line = `x = "${"([{<".repeat(500)}`;
  expect(
    tokens(line, language)
      .map(([part]) => part)
      .join(""),
  ).toBe(line);
});

test("a line of markup is text", () => {
  const line = "<script>alert(1)</script>";
  for (const [language] of LANGUAGES) {
    expect(tokens(line, language).reduce((all, [part]) => all + part, "")).toBe(line);
  }
});

test("strings over several lines are known by the lines that begin in them", () => {
  const lines = [
    'def f():  # """',
    '    """First.',
    "    for if '''",
    '    """ + x',
    "    y = '\"\"\"' + r'''a'''",
    "    z = '''b",
    "",
    "'''",
    "end",
  ];
  expect([...quoted(lines)]).toEqual([
    [3, 14],
    [4, 7],
    [7, 0],
    [8, 3],
  ]);
  expect([...quoted(['"""never closed', "a", "b"])]).toEqual([
    [2, 1],
    [3, 1],
  ]);
});

test("a string over several lines begins as a string", () => {
  expect(of("s", '    """First for.', "python")).toEqual(['"""First for.']);
  expect(of("s", 'x = f"""a"b""" + "c"', "python")).toEqual(['f"""a"b"""', '"c"']);
});
