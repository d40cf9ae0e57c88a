import { expect, test } from "vitest";
import { stepOf } from "../src/text/keys";
import { places } from "../src/text/ruler";
import { fileName } from "../src/text/save";
import { find, firstFrom, type Hits, MOST_FOUND, stepped } from "../src/text/search";

function inWords({ at, now, more }: Hits): string {
  return `${now + 1} / ${at.length}${more ? "+" : ""}`;
}

test("small and large letters find each other, and signs are no pattern", () => {
  expect(find("Add(a.b) add", "ADD").at).toEqual([0, 9]);
  expect(find("f32[8]{1,0} a.b axb", "a.b").at).toEqual([12]);
  expect(find("f32[8]{1,0}", "]{1").at).toEqual([5]);
  expect(find("a-b\\c", "-b\\").at).toEqual([1]);
});

test("the search goes on from where one looks, and around the ends", () => {
  const hits = find("x y x y x", "x", 3);
  expect(inWords(hits)).toBe("2 / 3");
  expect(inWords(stepped(hits, 1))).toBe("3 / 3");
  expect(inWords(stepped(hits, 2))).toBe("1 / 3");
  expect(inWords(stepped(hits, -2))).toBe("3 / 3");
  expect(inWords(find("x y", "x", 1))).toBe("1 / 1");
});

test("without a match there is nowhere to step", () => {
  expect(find("abc", "").at).toEqual([]);
  expect(stepped(find("abc", "z"), 1).now).toBe(-1);
});

test("a letter that is everywhere is counted up to a bound", () => {
  const hits = find("a".repeat(MOST_FOUND + 5), "a");
  expect(hits.at).toHaveLength(MOST_FOUND);
  expect(inWords(hits)).toBe("1 / 9999+");
  expect(inWords(find("a".repeat(MOST_FOUND), "a"))).toBe("1 / 9999");
});

test("letters that grow in small print keep the places true", () => {
  expect(find("İİ x", "x").at).toEqual([3]);
});

test("the first match from a place on is found by halves", () => {
  expect([0, 1, 4, 5, 9, 10].map((place) => firstFrom([1, 4, 9], place))).toEqual([
    0, 0, 1, 2, 2, 3,
  ]);
});

test("marks beside the scroll bar that fall together are drawn once", () => {
  expect(places([1, 2, 3, 100], 100, 10)).toEqual([0, 10]);
  expect(places([], 0, 10)).toEqual([]);
});

test("keys move by lines and pages", () => {
  expect(stepOf("ArrowDown", 20)).toBe(1);
  expect(stepOf("PageUp", 20)).toBe(-20);
  expect(stepOf("x", 20)).toBe(0);
});

test("a text is saved under its name, whatever is in it", () => {
  expect(fileName("optimized HLO", "hlo")).toBe("optimized_HLO.hlo");
  expect(fileName("../../etc/passwd", "python")).toBe("etc_passwd.py");
  expect(fileName("train.py", "python")).toBe("train.py");
  expect(fileName("///", "jaxpr")).toBe("text.jaxpr");
});
