// @vitest-environment node
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { Module } from "../src/graph/hlo";

const FOLDER = new URL("../../tests/data/hlo/", import.meta.url);
const CASES = readdirSync(FOLDER);

interface Expected {
  entry: string;
  computations: number;
  instructions: number;
  details?: Record<string, Partial<Record<"operands" | "called", string[]>> & Detail>;
}
interface Detail {
  opcode: string;
  line: number;
  computation: string;
}

function read(name: string): { module: Module; text: string; expected: Expected } {
  const text = readFileSync(new URL(`${name}/module.txt`, FOLDER), "utf-8");
  const expected = JSON.parse(readFileSync(new URL(`${name}/expected.json`, FOLDER), "utf-8"));
  return { module: new Module(text), text, expected };
}

// The same folders are the golden cases of the parser in Python, which is compared with XLA's own.
test.each(CASES)("%s has the computations and instructions that XLA counts", (name) => {
  const { module, expected } = read(name);
  expect(module.computations).toHaveLength(expected.computations);
  expect(module.instructions).toHaveLength(expected.instructions);
  expect(module.entry?.name).toBe(expected.entry);
  const names = (indices: readonly number[]) => indices.map((i) => module.instructions[i]?.name);
  for (const [id, detail] of Object.entries(expected.details ?? {})) {
    const found = module.atLine(detail.line);
    expect(found?.name).toBe(id);
    expect(found?.opcode).toBe(detail.opcode);
    expect(module.computations[found?.computation ?? -1]?.name).toBe(detail.computation);
    if (detail.operands) expect(names(found?.operands ?? [])).toEqual(detail.operands);
    if (detail.called) {
      const called = found?.called.map((i) => module.computations[i]?.name);
      expect(called).toEqual(detail.called);
    }
  }
});

test.each(CASES)("every name after a percent sign in the operands of %s is found", (name) => {
  const { module, text } = read(name);
  const lines = text.split("\n");
  let operands = 0;
  for (const each of module.instructions) {
    if (each.opcode === "constant" || each.opcode === "parameter") continue;
    const line = lines[each.line - 1] ?? "";
    const inside = line.slice(line.indexOf(`${each.opcode}(`)).split(/\), |\)$/)[0] ?? "";
    const written = inside.match(/%[\w.-]+/g) ?? [];
    if (written.length) expect(each.operands, line).toHaveLength(written.length);
    operands += each.operands.length;
  }
  expect(operands).toBeGreaterThan(0);
});

test("users and callers are the other end of operands and calls", () => {
  const { module } = read("spellings");
  const named = (name: string) => module.instructions.find((each) => each.name === name);
  const zero = named("zero");
  expect(module.users(zero?.index ?? -1).map((i) => module.instructions[i]?.name)).toEqual([
    "flag",
  ]);
  const region = module.computations.find((each) => each.name === "add_region");
  const callers = module.callers(region?.index ?? -1).map((i) => module.instructions[i]?.name);
  expect(callers).toEqual(["reduced", "per_row"]);
  expect(named("n")?.parameter).toBe(1);
  expect(named("result")?.root).toBe(true);
});

test("a text that is cut, empty or something else gives what there is", () => {
  expect(new Module("").entry).toBeUndefined();
  expect(new Module("module @jit_f {\n  func.func public @main() {\n").instructions).toEqual([]);
  const cut = new Module(
    "ENTRY %m (x: f32[]) -> f32[] {\n  %x = f32[] parameter(0)\n  %y = f32[] ad",
  );
  expect(cut.instructions.map((each) => each.name)).toEqual(["x"]);
  expect(cut.entry?.root).toBe(0);
});

test("a line of a megabyte is read once from end to end", () => {
  const long = `%c = f32[300000]{0} constant({${"1.5, ".repeat(200_000)}2})`;
  const module = new Module(`ENTRY %m () -> f32[] {\n  ${long}\n  ROOT %r = f32[] negate(%c)\n}\n`);
  expect(module.instructions.map((each) => each.opcode)).toEqual(["constant", "negate"]);
  expect(module.instructions[1]?.operands).toEqual([0]);
});
