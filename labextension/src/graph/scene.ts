/** A neighborhood as boxes, edges and labels: values only, no DOM. */

import type { InstructionFiguresJson } from "../schema/report";
import { count as counted, flops, percent, seconds, size as sizeOf } from "../words";
import type { Instruction, Module } from "./hlo";
import type { Plan } from "./layout";
import type { Neighborhood, Side } from "./neighborhood";

/** Width of a monospaced letter, by font size. */
const LETTER = { large: 7.3, small: 6.7 };
const LONGEST_NAME = 26;
const LONGEST_SHAPE = 24;

export interface NodeWords {
  index: number;
  line: number;
  opcode: string;
  name: string;
  figures: string;
  share: number;
  /** The full description, for the tooltip and screen readers. */
  label: string;
  canOpen: boolean;
  /** The computations that can be entered from it, with their names. */
  leadsTo: { computation: number; name: string }[];
}

export interface Stub {
  id: string;
  index: number;
  side: Side;
  count: number;
  words: string;
}

export interface LineWords {
  from: number;
  to: number;
  words: string;
  title: string;
}

export interface Scene {
  nodes: NodeWords[];
  stubs: Stub[];
  lines: LineWords[];
  frames: { index: number; words: string }[];
  plan: Plan;
}

/** `origin` gives the source line of an instruction in words; empty where it is unknown. */
export function scene(
  around: Neighborhood,
  figures: Readonly<Record<string, InstructionFiguresJson>>,
  origin: (line: number) => string = () => "",
): Scene {
  const { module } = around;
  const plan: Plan = { boxes: [], lines: [], frames: [] };
  const nodes: NodeWords[] = [];
  const stubs: Stub[] = [];
  const lines: LineWords[] = [];
  const opened = framed(around);
  for (const index of opened) {
    plan.frames.push({ id: frameId(index), ...within(around, index, opened) });
  }
  for (const index of around.shown) {
    const instruction = module.instructions[index];
    if (!instruction) continue;
    const node = wordsOf(instruction, module, around, figures, origin);
    nodes.push(node);
    plan.boxes.push({ id: nodeId(index), ...size(node), ...within(around, index, opened) });
  }
  const connect = (from: string, to: string, words: string) => {
    const width = words ? words.length * LETTER.small + 6 : 0;
    plan.lines.push({ from, to, width, height: words ? 16 : 0 });
  };
  for (const index of around.shown) {
    for (const to of around.next(index, "below")) {
      if (!around.shown.has(to)) continue;
      const shape = module.instructions[index]?.shape ?? "";
      const words = shortShape(shape);
      lines.push({ from: index, to, words, title: shape });
      connect(nodeId(index), nodeId(to), words);
    }
  }
  for (const index of around.shown) {
    for (const side of ["above", "below"] as const) {
      const count = around.hidden(index, side).length;
      if (count === 0) continue;
      const words = `+${counted(count, side === "above" ? "input" : "user")}`;
      const stub = { id: `${side}${index}`, index, side, count, words };
      stubs.push(stub);
      const width = stub.words.length * LETTER.small + 16;
      plan.boxes.push({ id: stub.id, width, height: 20, ...within(around, index, opened) });
      if (side === "above") connect(stub.id, nodeId(index), "");
      else connect(nodeId(index), stub.id, "");
    }
  }
  const frames = opened.map((index) => {
    const instruction = module.instructions[index];
    return { index, words: instruction ? `${instruction.opcode} ${instruction.name}` : "" };
  });
  return { nodes, stubs, lines, frames, plan };
}

/** Opened instructions with visible contents, outermost first. */
function framed(around: Neighborhood): number[] {
  const found = new Set<number>();
  for (const index of around.shown) {
    const path: number[] = [];
    for (let at = around.parent(index); at >= 0; at = around.parent(at)) path.unshift(at);
    for (const each of path) found.add(each);
  }
  return [...found];
}

function within(around: Neighborhood, index: number, opened: readonly number[]) {
  const parent = around.parent(index);
  return opened.includes(parent) ? { parent: frameId(parent) } : {};
}

export function nodeId(index: number): string {
  return `n${index}`;
}

export function frameId(index: number): string {
  return `f${index}`;
}

function size(node: NodeWords): { width: number; height: number } {
  const button = node.canOpen || node.leadsTo.length ? 3 : 0;
  const letters = Math.max(
    (node.opcode.length + button) * LETTER.large,
    node.name.length * LETTER.small,
    node.figures.length * LETTER.small,
  );
  const height = 24 + (node.name ? 14 : 0) + (node.figures ? 14 : 0) + (node.share > 0 ? 6 : 0);
  return { width: Math.max(letters + 24, 64), height };
}

function wordsOf(
  instruction: Instruction,
  module: Module,
  around: Neighborhood,
  figures: Readonly<Record<string, InstructionFiguresJson>>,
  origin: (line: number) => string,
): NodeWords {
  const { index, line, opcode, name, shape } = instruction;
  const found = figures[String(line)];
  const facts = figureWords(found);
  const leadsTo = around.leadsTo(index).map((computation) => ({
    computation,
    name: module.computations[computation]?.name ?? "",
  }));
  const canOpen = around.canOpen(index);
  const from = origin(line);
  const label = [
    `${opcode} ${name}`,
    plainShape(shape),
    ...facts,
    ...(from ? [`from ${from}`] : []),
    counted(around.next(index, "above").length, "input"),
    counted(around.next(index, "below").length, "user"),
    `line ${line} of the optimized HLO`,
  ].join(", ");
  const shortFacts = found ? shortFigures(found) : "";
  return {
    index,
    line,
    opcode: instruction.root ? `${opcode} ⏎` : opcode,
    name: shortName(name),
    figures: shortFacts,
    share: found?.share ?? 0,
    label: instruction.root ? `${label}, the result of its computation` : label,
    canOpen,
    leadsTo,
  };
}

function shortFigures(found: InstructionFiguresJson): string {
  const time = found.share !== undefined && found.share > 0 && percent(found.share);
  const work = found.flops && flops(found.flops);
  return [time, work, found.bytes && sizeOf(found.bytes)].filter(Boolean).join(" · ");
}

function figureWords(found: InstructionFiguresJson | undefined): string[] {
  if (!found) return [];
  const time =
    found.seconds !== undefined
      ? [`${seconds(found.seconds)} per call`, `${percent(found.share ?? 0)} of the time`]
      : [];
  const times = found.times !== 1 ? [`runs ${found.times} times per call`] : [];
  return [...time, flops(found.flops), `${sizeOf(found.bytes)} moved`, ...times].filter(
    (words) => !words.startsWith("—"),
  );
}

/** Shortens a name in the middle, since its ends distinguish it. */
export function shortName(name: string): string {
  if (name.length <= LONGEST_NAME) return name;
  return `${name.slice(0, LONGEST_NAME - 10)}…${name.slice(-9)}`;
}

/** A shape without layouts and comments. */
export function plainShape(shape: string): string {
  return shape.replace(/\/\*.*?\*\//g, "").replace(/\{[^{}]*\}/g, "");
}

/** … and short enough for a line: `f32[8,128]`, `3 values`. */
export function shortShape(shape: string): string {
  const plain = plainShape(shape);
  if (plain.length <= LONGEST_SHAPE) return plain;
  if (!plain.startsWith("(")) return `${plain.slice(0, LONGEST_SHAPE - 1)}…`;
  let depth = 0;
  let values = 1;
  for (const char of plain) {
    if ("([".includes(char)) depth++;
    else if (")]".includes(char)) depth--;
    else if (char === "," && depth === 1) values++;
  }
  return `${values} values`;
}
