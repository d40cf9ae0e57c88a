// @vitest-environment node
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { Arranger, Outdated } from "../src/graph/arrange";
import { Module } from "../src/graph/hlo";
import { layout } from "../src/graph/layout";
import { Neighborhood } from "../src/graph/neighborhood";
import { plainShape, scene, shortName, shortShape } from "../src/graph/scene";

function file(path: string): string {
  return readFileSync(new URL(`../../tests/data/${path}`, import.meta.url), "utf-8");
}

const cell = new Module(
  file("report/optimized_hlo.txt")
    .split("\n")
    .map((line) => line.replace(/\s+⟸.*$/, ""))
    .join("\n"),
);

const SMALL = new Module(`
%inner (p0: f32[8], p1: f32[8]) -> f32[8] {
  %p0 = f32[8]{0} parameter(0)
  %p1 = f32[8]{0} parameter(1)
  %s = f32[8]{0} sine(%p0)
  ROOT %m = f32[8]{0} multiply(%s, %p1)
}

ENTRY %main (a: f32[8], b: f32[8]) -> f32[8] {
  %a = f32[8]{0} parameter(0)
  %b = f32[8]{0} parameter(1)
  %f = f32[8]{0} fusion(%a, %b), kind=kLoop, calls=%inner
  ROOT %n = f32[8]{0} negate(%f)
}
`);

function named(module: Module, name: string): number {
  return module.instructions.findIndex((each) => each.name === name);
}

function names(module: Module, indices: Iterable<number>): string[] {
  return [...indices].map((i) => module.instructions[i]?.name ?? "?").sort();
}

function chain(length: number): Module {
  const lines = Array.from({ length }, (_, i) =>
    i ? `  %v${i} = f32[] negate(%v${i - 1})` : "  %v0 = f32[] parameter(0)",
  );
  return new Module(`ENTRY %m (v0: f32[]) -> f32[] {\n${lines.join("\n")}\n}\n`);
}

test("around an instruction stands what it reads and what reads it", () => {
  const around = new Neighborhood(SMALL, named(SMALL, "f"));
  expect(names(SMALL, around.shown)).toEqual(["a", "b", "f", "n"]);
  expect(names(SMALL, around.next(named(SMALL, "f"), "above"))).toEqual(["a", "b"]);
});

test("an opened fusion is its computation, whose parameters are the operands", () => {
  const around = new Neighborhood(SMALL, named(SMALL, "f"));
  around.toggle(named(SMALL, "f"));
  expect(names(SMALL, around.shown)).toEqual(["a", "b", "m", "n", "p0", "p1", "s"]);
  expect(names(SMALL, around.next(named(SMALL, "p1"), "above"))).toEqual(["b"]);
  expect(names(SMALL, around.next(named(SMALL, "a"), "below"))).toEqual(["p0"]);
  expect(names(SMALL, around.next(named(SMALL, "n"), "above"))).toEqual(["m"]);
  expect(names(SMALL, around.next(named(SMALL, "m"), "below"))).toEqual(["n"]);
  around.toggle(named(SMALL, "f"));
  expect(names(SMALL, around.shown)).toEqual(["a", "b", "f", "n"]);
});

test("an instruction inside a fusion is shown inside it", () => {
  const around = new Neighborhood(SMALL, named(SMALL, "s"));
  expect(names(SMALL, around.opened)).toEqual(["f"]);
  expect(names(SMALL, around.shown)).toEqual(["a", "b", "m", "n", "p0", "p1", "s"]);
});

test("the bodies of loops are led to and not shown in place", () => {
  const module = new Module(file("hlo/spellings/module.txt"));
  const around = new Neighborhood(module, named(module, "loop"));
  const led = around.leadsTo(named(module, "loop")).map((i) => module.computations[i]?.name);
  expect(led).toEqual(["round", "again"]);
  around.toggle(named(module, "loop"));
  expect(around.opened.size).toBe(0);
});

test("a click shows the next ones, and never more than the most", () => {
  const module = chain(400);
  const around = new Neighborhood(module, 200, 30);
  const before = around.shown.size;
  const end = Math.max(...around.shown);
  expect(around.hidden(end, "below")).toEqual([end + 1]);
  around.grow(end, "below");
  expect(around.shown.size).toBe(before + 1);
  for (let i = 0; i < 100; i++) around.grow(Math.max(...around.shown));
  expect(around.shown.size).toBe(30);
  expect(around.grow(Math.max(...around.shown))).toBe(1);
});

test("the whole of a wide sum is reached in steps", () => {
  const inputs = Array.from({ length: 50 }, (_, i) => `  %p${i} = f32[] parameter(${i})`);
  const list = inputs.map((_, i) => `%p${i}`).join(", ");
  const module = new Module(
    `ENTRY %m () -> () {\n${inputs.join("\n")}\n  ROOT %t = (f32[]) tuple(${list})\n}\n`,
  );
  const around = new Neighborhood(module, 50);
  expect(around.shown.size).toBe(16);
  const drawn = scene(around, {});
  expect(drawn.stubs.map((stub) => stub.words)).toEqual(["+35 inputs"]);
  around.grow(50);
  expect(around.hidden(50, "above")).toHaveLength(23);
});

test("boxes, lines and frames say what they are", () => {
  const around = new Neighborhood(SMALL, named(SMALL, "f"));
  const line = SMALL.instructions[named(SMALL, "f")]?.line ?? 0;
  const figures = {
    [line]: { shape: "f32[8]", flops: 16, bytes: 96, times: 1, share: 0.5, seconds: 2e-6 },
  };
  const drawn = scene(around, figures, () => "line 3");
  const fusion = drawn.nodes.find((node) => node.opcode === "fusion");
  expect(fusion?.canOpen).toBe(true);
  expect(fusion?.figures).toBe("50 % · 16 FLOP · 96 B");
  expect(fusion?.label).toBe(
    "fusion f, f32[8], 2 µs per call, 50 % of the time, 16 FLOP, 96 B moved, from line 3, 2 inputs, " +
      `1 user, line ${line} of the optimized HLO`,
  );
  expect(drawn.lines.map(({ words }) => words)).toEqual(["f32[8]", "f32[8]", "f32[8]"]);
  around.toggle(named(SMALL, "f"));
  const open = scene(around, figures);
  expect(open.frames.map(({ words }) => words)).toEqual(["fusion f"]);
  expect(open.plan.boxes.filter((box) => box.parent)).toHaveLength(4);
});

test("every instruction of a real program can be drawn, each line between two boxes", () => {
  for (const { index } of cell.instructions) {
    const around = new Neighborhood(cell, index);
    expect(around.shown.has(index)).toBe(true);
    const { plan } = scene(around, {});
    const ids = new Set(plan.boxes.map((box) => box.id));
    for (const { from, to } of plan.lines) expect(ids.has(from) && ids.has(to)).toBe(true);
  }
  expect(cell.instructions.length).toBeGreaterThan(50);
});

test("a layout puts readers below what they read, inside their frames", () => {
  const around = new Neighborhood(SMALL, named(SMALL, "f"));
  around.toggle(named(SMALL, "f"));
  const { plan } = scene(around, {});
  const { places, lines } = layout(plan);
  plan.lines.forEach(({ from, to }, i) => {
    expect(places[from]?.y).toBeLessThan(places[to]?.y ?? 0);
    expect(lines[i]?.points.length).toBeGreaterThan(1);
  });
  const frame = places[`f${named(SMALL, "f")}`];
  const inner = places[`n${named(SMALL, "s")}`];
  if (!frame || !inner) throw new Error("nothing was placed");
  expect(Math.abs(inner.x - frame.x)).toBeLessThan(frame.width / 2);
  expect(Math.abs(inner.y - frame.y)).toBeLessThan(frame.height / 2);
});

test("without workers the page lays out, and an older question is outdated", async () => {
  const arranger = new Arranger("");
  const { plan } = scene(new Neighborhood(SMALL, 0), {});
  expect((await arranger.arrange(plan)).width).toBeGreaterThan(0);
  expect(arranger.thread).toBe("page");
  arranger.dispose();
});

test("a newer question makes an older one outdated", async () => {
  const asked: unknown[] = [];
  class Silent {
    onmessage: ((event: unknown) => void) | null = null;
    onerror = null;
    postMessage(message: unknown) {
      asked.push(message);
    }
    terminate() {}
  }
  const before = globalThis.Worker;
  globalThis.Worker = Silent as unknown as typeof Worker;
  try {
    const arranger = new Arranger("code");
    const { plan } = scene(new Neighborhood(SMALL, 0), {});
    const first = arranger.arrange(plan).catch((error: unknown) => error);
    const second = arranger.arrange(plan).catch((error: unknown) => error);
    expect(await first).toBeInstanceOf(Outdated);
    arranger.dispose();
    expect(await second).toBeInstanceOf(Outdated);
    expect(asked).toHaveLength(2);
  } finally {
    globalThis.Worker = before;
  }
});

test("shapes and names are shortened where they can be told apart still", () => {
  expect(plainShape("(f32[8,128]{1,0:T(8,128)}, /*index=5*/s32[]{:T(128)})")).toBe(
    "(f32[8,128], s32[])",
  );
  expect(shortShape("f32[8,128]{1,0}")).toBe("f32[8,128]");
  expect(shortShape("(f32[2,128], f32[2,128]{1,0}, (f32[4], s32[]))")).toBe("3 values");
  expect(shortName("wrapped_convert_computation_of_layer.12345")).toBe(
    "wrapped_convert_…yer.12345",
  );
});
