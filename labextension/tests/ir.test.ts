import { expect, test, vi } from "vitest";
import { type Host, TextAbsent } from "../src/host";
import { added, chosen, closed, firstKinds } from "../src/ir/chosen";
import { eliminatedLines, sourceDress, stageDress } from "../src/ir/dress";
import {
  costliest,
  hottestLine,
  instructionFigures,
  measuresOf,
  sourceFigures,
} from "../src/ir/figures";
import { Fusions, instructionName } from "../src/ir/fusions";
import { huesOf } from "../src/ir/hues";
import { litSource, litStage } from "../src/ir/lit";
import { noticeOf } from "../src/ir/states";
import { paneWords, statusWords, unattributedWords } from "../src/ir/status";
import { StageTexts } from "../src/ir/texts";
import { Equations, splitLines } from "../src/links";
import type { TextState } from "../src/model";
import {
  type ProgramFiguresJson,
  type ProgramJson,
  STAGE_KINDS,
  type StageJson,
} from "../src/schema/report";
import { links, model, record } from "./golden";

const program = record.programs[0] as ProgramJson;

function lineOf(kind: string, text: string): number {
  const stage = program.stages.find((each) => each.kind === kind);
  return splitLines(stage?.text ?? "").findIndex((line) => line.includes(text)) + 1;
}

// Open panes.

test("a pane is added, chosen and closed, four at most and one at least", () => {
  expect(firstKinds(700)).toEqual(["optimized_hlo"]);
  expect(firstKinds(1440)).toEqual(["jaxpr", "optimized_hlo"]);
  const four = added(added(firstKinds(1440)));
  expect(four).toEqual(["jaxpr", "optimized_hlo", "stablehlo", "hlo"]);
  expect(added(four)).toEqual(four);
  expect(closed(four, 1)).toEqual(["jaxpr", "stablehlo", "hlo"]);
  expect(closed(["hlo"], 0)).toEqual(["hlo"]);
  expect(chosen(["jaxpr", "hlo"], 0, "stablehlo")).toEqual(["stablehlo", "hlo"]);
  expect(chosen(["jaxpr", "hlo"], 0, "hlo")).toEqual(["hlo", "jaxpr"]);
});

test("a stage that there is none of takes no room at first", () => {
  expect(firstKinds(1440, ["jaxpr", "stablehlo", "hlo"])).toEqual(["optimized_hlo"]);
  expect(firstKinds(1440, ["jaxpr"])).toEqual(["stablehlo", "optimized_hlo"]);
  expect(firstKinds(700, ["optimized_hlo"])).toEqual(["hlo"]);
  expect(firstKinds(1440, [...STAGE_KINDS])).toEqual(["optimized_hlo"]);
});

// Colors.

test("neighboring lines have hues far apart, and lines of one expression share theirs", () => {
  const spread: ProgramJson = {
    ...program,
    equations: program.equations.map((each) => ({
      ...each,
      frames: each.frames.map((frame) =>
        frame.source === 0 && frame.span[0] === 3
          ? { ...frame, span: [3, 4, 5, 8] as const }
          : frame,
      ),
    })),
  };
  const hues = huesOf(new Equations(spread.equations), 0);
  expect(hues.get(4)).toBe(hues.get(3));
  const own = [...new Set(hues.values())];
  const apart = own.slice(1).map((hue, i) => Math.abs(((hue - (own[i] ?? 0) + 540) % 360) - 180));
  expect(Math.min(...apart)).toBeGreaterThan(60);
});

// Fusions.

const HLO = `HloModule jit_f

%fused_computation.1 (p.0: f32[8]) -> f32[8] {
  %p.0 = f32[8]{0} parameter(0)
  ROOT %sin.2 = f32[8]{0} sine(%p.0)
}

%body (t: (f32[8])) -> (f32[8]) {
  %x.1 = f32[8]{0} negate(%t)
}

ENTRY %main (a.1: f32[8]) -> f32[8] {
  %a.1 = f32[8]{0} parameter(0)
  ROOT %sine_fusion = f32[8]{0} fusion(%a.1), kind=kLoop, calls=%fused_computation.1
}`;

test("the lines of a fused computation belong to their fusion", () => {
  const fusions = new Fusions(HLO.split("\n"));
  const fusion = { line: 14, name: "%sine_fusion", first: 3, last: 6 };
  expect([4, 5, 14].map((line) => fusions.of(line))).toEqual([fusion, fusion, fusion]);
  expect([1, 2, 7, 8, 9, 12, 13, 15].map((line) => fusions.of(line))).toEqual(Array(8).fill(null));
  expect(instructionName("  ROOT %sin.2 = f32[8]{0} sine(%p.0)")).toBe("%sin.2");
  expect(instructionName("}")).toBe("");
});

// Highlights.

test("a selection lights up what Python links", () => {
  const report = model();
  const now = report.ofSource(7);
  const [lines] = links.from_source["optimized_hlo 0"]?.[7] ?? [[]];
  expect([...litStage(report, now, "optimized_hlo").hot]).toEqual(lines);
  const text = splitLines(record.sources[0]?.text ?? "");
  expect([...litSource(report, now, text).hot]).toEqual([7]);
  expect(litSource(report, now, text).spans.size).toBe(0);
});

test("a spot marks its expression, and leaves the rest of the line soft", () => {
  const report = model();
  const text = splitLines(record.sources[0]?.text ?? "");
  const now = report.ofSource(3, text[2]?.indexOf("@"));
  const [span] = litSource(report, now, text).spans.get(3) ?? [];
  expect(text[2]?.slice(span?.[0], span?.[1])).toBe("x @ w1");
  const { hot, soft } = litStage(report, now, "jaxpr");
  expect(hot.size).toBe(1);
  expect(soft.size).toBeGreaterThan(hot.size);
});

// Styles of lines.

test("approximate matches, eliminated code and findings are dressed as such", () => {
  const gone = [...new Equations(program.equations).homes(0)].filter(([, line]) => line === 3);
  const report = model({ eliminated: gone.map(([equation]) => ({ equation, reason: "folded" })) });
  const hues = huesOf(report.equations, 0);
  const source = sourceDress(report, hues);
  expect(source.get(3)).toMatchObject({ hue: hues.get(3), dim: "folded" });
  expect(source.get(4)?.flag).toContain("`print` runs only");
  expect([...eliminatedLines(report).keys()]).toEqual([3]);
  const tanh = lineOf("jaxpr", "= tanh");
  expect(stageDress(report, "jaxpr", hues).get(tanh)).toEqual({ hue: hues.get(3), dim: "folded" });
  const guessed = lineOf("optimized_hlo", "%wrapped_reduce-window = ");
  expect(stageDress(report, "optimized_hlo", hues).get(guessed)?.inexact).toBe(true);
});

test("a line is dimmed only where all of it was eliminated", () => {
  const [first] = [...new Equations(program.equations).homes(0)].filter(([, line]) => line === 3);
  const report = model({ eliminated: [{ equation: first?.[0] ?? -1, reason: "folded" }] });
  expect(eliminatedLines(report).size).toBe(0);
});

test("the backward part of a line is told from its forward part", () => {
  const tanh = program.equations.find((each) => each.primitive === "tanh");
  const equations = program.equations.map((each) =>
    each === tanh ? { ...each, phase: "backward" as const } : each,
  );
  const report = model({}, { programs: [{ ...program, equations }] });
  const dress = stageDress(report, "jaxpr", huesOf(report.equations, 0));
  expect(dress.get(lineOf("jaxpr", "= tanh"))?.phase).toBe("backward");
  const lines = [...report.anchors("jaxpr").byLine.keys()];
  expect(lines.filter((line) => dress.get(line)?.phase)).toHaveLength(1);
});

// Figures.

test("beside the source is one figure: the time if there is one, else what is chosen", () => {
  const row = { equations: 5, instructions: null, flops: 1200, exact: false };
  const time = { seconds: 1e-3, share: 0.34, low: 9e-4, high: 2e-3, estimate: true };
  const lines: ProgramFiguresJson["lines"] = [
    { 3: { ...row, time, residuals: 3000 }, 4: { ...row, flops: 0, residuals: 1000 } },
    {},
  ];
  const report = model({ lines });
  expect(measuresOf(report)).toEqual(["time", "FLOPs", "residuals"]);
  const time3 = sourceFigures(report, "time");
  expect(time3?.columns).toMatchObject([{ title: "time", width: 7 }]);
  expect(time3?.cells(3)).toEqual([{ text: "≈34 %", bar: 0.34 }]);
  expect(time3?.cells(4)).toEqual([""]);
  expect(time3?.cells(9)).toBeNull();
  expect(hottestLine(report)).toBe(3);
  const cooler = { ...time, share: 0.2 };
  const two = { 2: { ...row, time: cooler }, 3: { ...row, time }, 9: { ...row, time: cooler } };
  expect(hottestLine(model({ lines: [two, {}] }))).toBe(3);
  expect(hottestLine(model({ lines: [{ 3: row }, {}] }))).toBeUndefined();
  expect(sourceFigures(report, "FLOPs")?.cells(3)).toEqual([{ text: "≈1.2 k", bar: 1 }]);
  expect(sourceFigures(report, "residuals")?.cells(4)).toEqual([{ text: "1 kB", bar: 0.25 }]);
  const plain = model({ lines: [{ 3: row }, {}] });
  expect(measuresOf(plain)).toEqual(["FLOPs"]);
  expect(sourceFigures(plain, measuresOf(plain)[0])?.columns[0]?.title).toBe("FLOPs");
  expect(measuresOf(model())).toEqual([]);
  expect(sourceFigures(model(), undefined)).toBeNull();
});

test("a figure of which much is not exact is a bracket, and what has no line is in the foot", () => {
  const counts = { equations: 1, instructions: 2, exact: false, at_least: true };
  const lines: ProgramFiguresJson["lines"] = [
    {
      3: { ...counts, flops: null, flops_bracket: { low: 0, high: 1200 } },
      4: { ...counts, flops: 1000, bytes: 64 },
    },
    {},
  ];
  const unattributed = { flops: 1000, total: 2000, bytes: 64, lines: [3, 4], share: 0.02 };
  const report = model({ lines, unattributed });
  const all = sourceFigures(report, "FLOPs");
  expect(all?.cells(3)?.[0]).toEqual({ text: "0…1.2 k", bar: 0 });
  expect(all?.cells(4)?.[0]).toEqual({ text: "≥1 k", bar: 0.5 });
  expect(unattributedWords(report)).toBe(
    "unattributed: 1 kFLOP, of line 3 or 4, 64 B moved, 2 % of the time",
  );
  const words = (line: number) =>
    statusWords(report, report.ofSource(line), new StageTexts(report)).join(" · ");
  expect(words(3)).toContain("0 FLOP … 1.2 kFLOP");
  expect(unattributedWords(model())).toBe("");
});

test("beside the optimized HLO stand the share of the time, work and traffic of a run", () => {
  const instructions = {
    4: { shape: "f32[8]", flops: 2000, bytes: 64, times: 3, seconds: 1e-5, share: 0.5 },
    9: { shape: "f32[8]", flops: 0, bytes: null, times: 1 },
  };
  const report = model({ instructions });
  const cells = (line: number) =>
    (["time", "FLOPs", "bytes"] as const).map(
      (measure) => instructionFigures(report, measure)?.cells(line)?.[0],
    );
  expect(cells(4)).toEqual([
    { text: "50 %", bar: 0.5 },
    { text: "6 k", bar: 1 },
    { text: "192 B", bar: 1 },
  ]);
  expect(cells(9)).toEqual(["", "", "—"]);
  expect(instructionFigures(report, "residuals")).toBeNull();
  expect(instructionFigures(model(), "time")).toBeNull();
});

test("of many instructions a click leads to what takes the time, else to what moves the bytes", () => {
  const row = { shape: "f32[8]", flops: 9, times: 1 };
  const profiled = {
    4: { ...row, bytes: null },
    7: { ...row, bytes: 900, share: 0.1 },
    9: { ...row, bytes: 64, share: 0.3 },
  };
  expect(costliest([4, 7, 9], profiled)).toBe(9);
  const timed = { 4: { ...row, bytes: null }, 7: { ...row, bytes: 64 }, 9: { ...row, bytes: 64 } };
  expect(costliest([4, 7, 9], timed)).toBe(7);
  const loop = { 4: { ...row, bytes: 64 }, 7: { ...row, bytes: 40, times: 2 } };
  expect(costliest([4, 7], loop)).toBe(7);
  expect(costliest([4, 7], {})).toBe(4);
  expect(costliest([], profiled)).toBeUndefined();
});

// Words.

test("the card of a line says its time, its limit, what it became and what it saves", () => {
  const figures = {
    3: {
      equations: 5,
      instructions: 6,
      flops: 1200,
      exact: true,
      backward: { equations: 2, flops: 300 },
      residuals: 254_000,
      limit: "memory-bound",
      time: {
        seconds: 217e-6,
        share: 0.035,
        low: 2e-4,
        high: 3e-4,
        estimate: false,
        backward: 157e-6,
      },
    },
  };
  const report = model({ lines: [figures, {}] });
  const words = statusWords(report, report.ofSource(3), new StageTexts(report));
  expect(words.slice(0, 5)).toEqual([
    "Line 3",
    "3.5 %",
    "217 µs (fwd 60 µs, bwd 157 µs)",
    "memory-bound",
    "1.2 kFLOP (25 % bwd)",
  ]);
  expect(words[5]).toMatch(/^\d+ equations → (fused into %\S+|\d+ fusions)/);
  expect(words.at(-1)).toBe("saves 254 kB for backward");
  expect(statusWords(report, report.ofSource(2), new StageTexts(report))).toEqual([
    "Line 2",
    "no equation",
  ]);
  const spot = report.ofSource(3, splitLines(record.sources[0]?.text ?? "")[2]?.indexOf("@"));
  const part = statusWords(report, spot, new StageTexts(report));
  expect(part[0]).toBe("Line 3: dot_general");
  expect(part[1]).toMatch(/^1 of \d+ equations → /);
  expect(part).toContain("the whole line: 3.5 %");
});

test("of a program without a jaxpr no equation is claimed or denied", () => {
  const unavailable = { kind: "jaxpr", reason: "a profiled cell has no jaxpr." } as const;
  const stages = program.stages.map((each) =>
    each.kind === "jaxpr" ? { ...each, text: null, unavailable } : each,
  );
  const cell = { ...program, stages, equations: [] } as ProgramJson;
  const report = model({}, { programs: [cell] });
  expect(report.unlinked).toBe("a profiled cell has no jaxpr.");
  const texts = new StageTexts(report);
  expect(statusWords(report, report.ofSource(3), texts)).toEqual(["Line 3"]);
  expect(statusWords(report, report.ofStage("optimized_hlo", 1), texts)).not.toContain(
    "no equation is linked to it",
  );
  // That of an empty function is there, and has none.
  const empty = model({}, { programs: [{ ...program, equations: [] }] });
  expect(empty.unlinked).toBe("");
  expect(statusWords(empty, empty.ofSource(3), new StageTexts(empty))).toContain("no equation");
});

test("the status line of an instruction has its shape, work and time", () => {
  const line = lineOf("optimized_hlo", " fusion(");
  const instructions = {
    [line]: { shape: "f32[8]", flops: 2000, bytes: 64, times: 3, seconds: 1e-5, share: 0.5 },
  };
  const report = model({ instructions });
  const words = statusWords(report, report.ofStage("optimized_hlo", line), new StageTexts(report));
  expect(words[0]).toBe(`optimized HLO line ${line}`);
  expect(words.slice(2, 7)).toEqual([
    "f32[8]",
    "2 kFLOP",
    "64 B",
    "3 times per call",
    "10 µs, 50 % of the time",
  ]);
  expect(words.join(" · ")).toContain("← line");
});

test("the line card has the fusion remarks of its line once they were compiled, and asks for none", () => {
  const report = model();
  const said = (line: number) =>
    statusWords(report, report.ofSource(line), new StageTexts(report)).filter((part) =>
      part.startsWith("not fused"),
    );
  expect(said(3)).toEqual([
    "not fused: 131 kB %dot_general.1 → %add_tanh_fusion, since dot has a kernel or library call of its own",
  ]);
  expect(said(2)).toEqual([]);
  const stages = program.stages.filter((each) => each.kind !== "remarks");
  const fetchStage = vi.fn();
  const host = { name: "page", fetchStage } as unknown as Host;
  const without = model({}, { programs: [{ ...program, stages }] }, host, "id");
  const words = statusWords(without, without.ofSource(3), new StageTexts(without));
  expect(words.join(" · ")).not.toContain("not fused");
  expect(fetchStage).not.toHaveBeenCalled();
});

test("a guess is named as one, with its reason", () => {
  const report = model();
  const line = lineOf("optimized_hlo", "%wrapped_reduce-window = ");
  const words = statusWords(report, report.ofStage("optimized_hlo", line), new StageTexts(report));
  expect(words.at(-1)).toBe("≈ the instruction carries no tag; matched by primitive and shape");
});

test("what left no instruction says why", () => {
  const stages = program.stages.map(
    (each): StageJson => (each.kind === "optimized_hlo" ? { ...each, anchors: [] } : each),
  );
  const tanh = program.equations.find((each) => each.primitive === "tanh")?.id ?? -1;
  const eliminated = [{ equation: tanh, reason: "folded into a constant" }];
  const report = model({ eliminated }, { programs: [{ ...program, stages }] });
  const texts = new StageTexts(report);
  const line = lineOf("jaxpr", "= tanh");
  expect(statusWords(report, report.ofStage("jaxpr", line), texts)).toContain(
    "folded into a constant",
  );
  expect(statusWords(report, report.ofSource(3), texts).join(" · ")).toContain(
    "→ no instruction: folded into a constant",
  );
});

test("a pane's foot counts its lines and says how sure they are", () => {
  const report = model();
  expect(paneWords(report, "jaxpr", 75, null)).toBe("75 lines");
  expect(paneWords(report, "jaxpr", 75, report.ofSource(7))).toBe("6 lines · exact");
  expect(paneWords(report, "jaxpr", 75, report.ofSource(2))).toBe("—");
  expect(paneWords(report, "jaxpr", 75, report.ofStage("jaxpr", 9))).toBe("line 9 of 75");
});

// Texts that are not here.

const SIZE = { lines: 18240, bytes: 2_100_000 };

test.each([
  [
    { state: "requested" },
    /^Requesting this text \(18 240 lines, 2.1 MB\) from the kernel\. A busy kernel answers later\.$/,
    false,
  ],
  [
    { state: "unavailable", reason: "XLA gave none" },
    /^There is no optimized HLO: XLA gave none\.$/,
    false,
  ],
  [
    { state: "absent", absence: "no-kernel", message: "" },
    /^This text \(18 240 lines, 2.1 MB\) was too large to be saved in the notebook, and no kernel is connected\. Run the cell again\.$/,
    true,
  ],
  [
    { state: "absent", absence: "gone", message: "" },
    /the kernel keeps only the latest reports\. Run the cell again\.$/,
    true,
  ],
  [
    { state: "absent", absence: "forgotten", message: "" },
    /the kernel was restarted or jaxscope reloaded\. Run the cell again\.$/,
    true,
  ],
  [
    { state: "absent", absence: "restarted", message: "" },
    /the kernel was restarted\. Run the cell again\.$/,
    true,
  ],
  [
    { state: "absent", absence: "error", message: "no room" },
    /the request to the kernel failed \(no room\)\.$/,
    true,
  ],
] satisfies [TextState, RegExp, boolean][])(
  "%o is said in a whole sentence",
  (state, text, retry) => {
    const found = noticeOf(state, "optimized_hlo", SIZE, true);
    expect(found?.text).toMatch(text);
    expect(found?.retry).toBe(retry);
  },
);

test("the sentence about several of a kind is in the plural", () => {
  const text = (kind: "passes" | "remarks", state: TextState) =>
    noticeOf(state, kind, undefined, true)?.text;
  const priced: TextState = { state: "priced", seconds: 0 };
  expect(text("remarks", priced)).toBe("The fusion remarks need one more compilation.");
  expect(text("passes", priced)).toBe("The pass log needs one more compilation.");
  const none: TextState = { state: "unavailable", reason: "it was never compiled" };
  expect(text("remarks", none)).toBe("There are no fusion remarks: it was never compiled.");
  expect(text("passes", none)).toBe("There is no pass log: it was never compiled.");
});

test("a text that is here is no reason for words, and a page has nobody to ask", () => {
  const stage: StageJson = { kind: "jaxpr", text: "x", unavailable: null, anchors: [] };
  expect(noticeOf({ state: "saved", stage }, "jaxpr", undefined, true)).toBeNull();
  const absent = { state: "absent", absence: "no-kernel", message: "" } as const;
  expect(noticeOf(absent, "jaxpr", undefined, false)).toEqual({
    text: 'This text is not in this file. In Python, report.stage("jaxpr").text gives it.',
    retry: false,
    busy: false,
  });
});

test("a text is asked for once, and asked for again when the user wants it", async () => {
  let asked = 0;
  const stages = program.stages.filter((each) => each.kind !== "hlo");
  const fetchStage = () => {
    asked++;
    return asked === 1
      ? Promise.reject(new TextAbsent("restarted"))
      : Promise.resolve({
          stage: { kind: "hlo" as const, text: "HloModule x", unavailable: null, anchors: [] },
        });
  };
  const changes = { programs: [{ ...program, stages }] };
  const report = model({}, changes, { name: "lab", fetchStage }, "7");
  expect(report.text("hlo").state).toBe("requested");
  await Promise.all([report.request("hlo"), report.request("hlo")]);
  expect(asked).toBe(1);
  expect(report.text("hlo")).toMatchObject({ state: "absent", absence: "restarted" });
  report.tryAgain();
  await report.request("hlo");
  expect(report.text("hlo").state).toBe("live");
});

test("of a target's program the LLVM IR is free, and stages of other devices are not offered", async () => {
  const empty = { lines: null, bytes: null };
  const omitted = { llvm: { ...empty, free: true }, passes: empty, ptx: empty };
  const stages = program.stages.filter((each) => each.kind === "jaxpr");
  const fetchStage = (_: string, __: number, kind: StageJson["kind"]) =>
    Promise.resolve({ stage: { kind, text: "define", unavailable: null, anchors: [] } });
  const changes = { programs: [{ ...program, stages }] };
  const report = model({ omitted }, changes, { name: "lab", fetchStage }, "7");
  expect(report.text("llvm").state).toBe("requested");
  expect(report.text("passes").state).toBe("priced");
  expect(STAGE_KINDS.filter((kind) => report.mayHave(kind))).toEqual([
    "jaxpr",
    "passes",
    "llvm",
    "ptx",
  ]);
});

test("a text that costs a compilation is fetched after agreeing to its price", async () => {
  const answer = (kind: StageJson["kind"]) => ({
    stage: { kind, text: "define", unavailable: null, anchors: [] },
  });
  const asked: string[] = [];
  const fetchStage = (_: string, __: number, kind: StageJson["kind"]) => {
    asked.push(kind);
    return Promise.resolve(answer(kind));
  };
  const stages = program.stages.filter((each) => !each.kind.startsWith("llvm"));
  const changes = { programs: [{ ...program, stages }] };
  const report = model({}, changes, { name: "lab", fetchStage }, "7");
  await report.request("llvm");
  expect(asked).toEqual([]);
  const state = report.text("llvm");
  const notice = noticeOf(state, "llvm", undefined, true);
  expect(notice?.text).toMatch(/^The LLVM IR needs one more compilation/);
  expect(notice?.agree).toBe("Compile");
  report.agree("llvm");
  await report.request("llvm");
  await report.request("llvm_optimized");
  expect(asked).toEqual(["llvm", "llvm_optimized"]);
  expect(report.text("llvm").state).toBe("live");
});

test("the price is that of the kernel once it has answered", async () => {
  let answered: (seconds: number) => void = () => {};
  const asked: string[] = [];
  const fetchPrice = (_: string, __: number, kind: StageJson["kind"]) => {
    asked.push(kind);
    return new Promise<number>((done) => {
      answered = done;
    });
  };
  const fetchStage = () => Promise.reject(new TextAbsent("error"));
  const changes = { programs: [{ ...program, stages: [] }] };
  const host = { name: "lab" as const, fetchStage, fetchPrice };
  const report = model({ compile_s: 9 }, changes, host, "7");
  expect(report.text("passes")).toEqual({ state: "priced", seconds: 9 });
  expect(report.text("passes")).toEqual({ state: "priced", seconds: 9 });
  expect(asked).toEqual(["passes"]);
  answered(2.5);
  await Promise.resolve();
  await Promise.resolve();
  expect(report.text("passes")).toEqual({ state: "priced", seconds: 2.5 });
});
