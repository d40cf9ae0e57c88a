import { expect, test } from "vitest";
import { bytes, count, flops, lineNames, percent, seconds, short, significant } from "../src/words";

test("numbers have three digits and a prefix", () => {
  const numbers = [0, 1, 7, 9.995, 12.34, 999, 999.6, 1000, 1234, 65536, 1048576, 5.23e9, 7.5e15];
  expect(numbers.map(short)).toEqual([
    "0",
    "1",
    "7",
    "9.99",
    "12.3",
    "999",
    "1 k",
    "1 k",
    "1.23 k",
    "65.5 k",
    "1.05 M",
    "5.23 G",
    "7.5 P",
  ]);
  expect([flops(1200), bytes(64e3), bytes(null), short(undefined)]).toEqual([
    "1.2 kFLOP",
    "64 kB",
    "—",
    "—",
  ]);
  expect(significant(Number.NaN)).toBe("—");
});

test("times have the unit in which they read best", () => {
  expect([12.3e-6, 0.042, 1.5, 744, 7560, 0, 9.996e-4].map(seconds)).toEqual([
    "12.3 µs",
    "42 ms",
    "1.5 s",
    "12.4 min",
    "2.1 h",
    "0 s",
    "1 ms",
  ]);
  expect(seconds(null)).toBe("—");
});

test("shares below a tenth of a percent are said to be so", () => {
  expect([0, 0.0004, 0.001, 0.02, 0.0237, 0.0996, 0.81, 1].map(percent)).toEqual([
    "0 %",
    "< 0.1 %",
    "0.1 %",
    "2 %",
    "2.4 %",
    "10 %",
    "81 %",
    "100 %",
  ]);
});

test("things are counted and listed in words", () => {
  expect([count(1, "line"), count(3, "line"), count(12000, "match", "matches")]).toEqual([
    "1 line",
    "3 lines",
    "12 000 matches",
  ]);
  expect(lineNames([4])).toBe("line 4");
  expect(lineNames([4, 5])).toBe("lines 4 and 5");
  expect(lineNames([1, 2, 3, 4, 5, 6], 3)).toBe("lines 1, 2, 3 and 3 more");
});
