import { expect, test } from "vitest";
import { type Fold, folds } from "../src/text/folds";
import type { Language } from "../src/text/tokens";
import texts from "./data/texts.json";

function places(text: string, language: Language): [number, number][] {
  return folds(text.split("\n"), language).map(({ first, last }) => [first, last]);
}

const entries = (found: Fold[]) => found.filter((fold) => fold.entry).map((fold) => fold.first);

test("each computation of HLO folds from its head to its brace", () => {
  const lines = texts.optimized_hlo.split("\n");
  const found = folds(lines, "hlo");
  const heads = lines.flatMap((line, index) => (/^\S.*\{$/.test(line) ? [index + 1] : []));
  expect(heads).toHaveLength(12);
  expect(found.map((fold) => fold.first)).toEqual(heads);
  for (const { last, closes } of found) {
    expect(lines[last - 1]).toBe("}");
    expect(closes).toBe(true);
  }
});

test("the entry is marked, so that folding all leaves it open", () => {
  const lines = texts.optimized_hlo.split("\n");
  const [entry] = entries(folds(lines, "hlo"));
  expect(lines[(entry ?? 0) - 1]).toMatch(/^ENTRY /);
  expect(entries(folds(texts.stablehlo.split("\n"), "mlir"))).toEqual([1, 2]);
});

test("functions and regions of MLIR fold, one in another", () => {
  expect(places(texts.stablehlo, "mlir")).toEqual([
    [1, 37],
    [2, 23],
    [9, 13],
    [13, 19],
    [24, 29],
    [30, 36],
  ]);
});

test("a jaxpr within a jaxpr folds, and so do parameters over several lines", () => {
  expect(places(texts.jaxpr, "jaxpr")).toEqual([
    [1, 20],
    [2, 5],
    [8, 18],
    [9, 12],
  ]);
  const found = folds(texts.jaxpr.split("\n"), "jaxpr");
  expect(found.every((fold) => fold.closes)).toBe(true);
});

test("blocks of Python end before empty lines and before the next statement", () => {
  const text = "def f(x):\n    if x:\n        y = 1\n\n    return y\n\n\nz = 2\n";
  expect(places(text, "python")).toEqual([
    [1, 5],
    [2, 3],
  ]);
});

test("braces that close nothing, or never close, make no fold", () => {
  expect(places("}\n}\n{\na {\n", "hlo")).toEqual([]);
  expect(places("", "python")).toEqual([]);
});

test("each pass of the pass log folds, and each of its changes", () => {
  const log = [
    "1 · algsimp · +1",
    "  rewritten",
    "    - %a = add()",
    "    + %b = add()",
    "",
    "2 · cse · −1",
  ];
  expect(places([...log, "  merged", "    - %c = add()"].join("\n"), "hlo")).toEqual([
    [1, 4],
    [2, 4],
    [6, 8],
    [7, 8],
  ]);
});
