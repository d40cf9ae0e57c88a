// @vitest-environment node
import { expect, test } from "vitest";
import { changesOf, fate, sameLines, unnumbered } from "../src/diff/pairs";

const GROUPS = [
  { caption: "cell:3", changes: [[4, 5] as const, [null, 2] as const] },
  { caption: "", changes: [[6, null] as const] },
];

test("changes stand in the order of the texts, with what became of each", () => {
  const changes = changesOf(GROUPS);
  expect(changes.map(({ before, after, group }) => [before, after, group])).toEqual([
    [null, 2, 0],
    [4, 5, 0],
    [6, null, 1],
  ]);
  expect(changes.map(fate)).toEqual(["added", "changed", "removed"]);
});

test("lines that are the same but for their numbers lead to each other", () => {
  const before = "HloModule f\n%a.1 = f32[] add(%x.1)\n%b.7 = f32[] sine(%a.1)\n}";
  const after =
    "HloModule f\n%new.2 = f32[] cosine(%x.3)\n%a.3 = f32[] add(%x.3)\n%b.9 = f32[] sine(%a.3)\n}";
  const changes = changesOf([{ caption: "", changes: [[null, 2]] }]);
  const { later, earlier } = sameLines(before, after, changes);
  expect([...later]).toEqual([
    [1, 1],
    [2, 3],
    [3, 4],
    [4, 5],
  ]);
  expect(earlier.get(4)).toBe(3);
});

test("lines that moved are found by their words", () => {
  const { later } = sameLines("%a = add(%x)\n%b = sine(%x)", "%b = sine(%x)\n%a = add(%x)", []);
  expect([...later].sort()).toEqual([
    [1, 2],
    [2, 1],
  ]);
});

test("names and places are left aside, shapes and operations are not", () => {
  expect(unnumbered('  %dot.12 = f32[8]{0} dot(%p.1), metadata={op_name="x"}')).toBe(
    unnumbered("  %dot.7 = f32[8]{0} dot(%q)"),
  );
  expect(unnumbered("a:f32[8] = sin b")).toBe(unnumbered("c:f32[8] = sin d"));
  expect(unnumbered("a:f32[8] = sin b")).not.toBe(unnumbered("a:f32[9] = sin b"));
  expect(unnumbered("%a = add(%x)")).not.toBe(unnumbered("%a = subtract(%x)"));
});
