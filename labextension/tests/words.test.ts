// @vitest-environment node
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import * as words from "../src/words";

/** By function: number and text. pytest holds `jaxscope.words` to the same cases. */
const cases = JSON.parse(
  readFileSync(new URL("../../tests/data/words/words.json", import.meta.url), "utf-8"),
) as Record<string, [number | null, string][]>;

const twins: Readonly<Record<string, (value: number | null) => string>> = {
  significant: (value) => words.significant(value ?? Number.NaN),
  short: words.short,
  flops: words.flops,
  size: words.size,
  seconds: words.seconds,
  percent: words.percent,
  count: (value) => words.count(value ?? 0, "line"),
};

test.each(Object.keys(cases))("%s gives what Python gives", (name) => {
  const found = cases[name]?.map(([value]) => [value, twins[name]?.(value)]);
  expect(found).toEqual(cases[name]);
});

test("what is no number is a dash", () => {
  expect(words.significant(Number.NaN)).toBe("—");
  expect([words.short(undefined), words.seconds(undefined), words.percent(undefined)]).toEqual([
    "—",
    "—",
    "—",
  ]);
});

test("things are counted and listed in words", () => {
  expect(words.count(12_000, "match", "matches")).toBe("12 000 matches");
  expect(words.lineNames([4])).toBe("line 4");
  expect(words.lineNames([4, 5])).toBe("lines 4 and 5");
  expect(words.lineNames([1, 2, 3, 4, 5, 6], 3)).toBe("lines 1, 2, 3 and 3 more");
});
