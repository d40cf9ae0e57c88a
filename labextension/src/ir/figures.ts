/** Figures beside the lines, as columns of a pane's gutter. */

import type { ReportModel } from "../model";
import type { BracketJson, InstructionFiguresJson, LineFiguresJson } from "../schema/report";
import type { Cell, Column, Figures } from "../text/look";
import { type Figure, percent, short, UNKNOWN } from "../words";
import { differentiates } from "./dress";

interface Part<Row> {
  column: Column;
  cell(row: Row): Cell;
}

function figures<Row>(
  parts: readonly Part<Row>[],
  row: (line: number) => Row | undefined,
): Figures | null {
  if (!parts.length) return null;
  const cells = (line: number) => {
    const found = row(line);
    return found ? parts.map((part) => part.cell(found)) : null;
  };
  return { columns: parts.map((part) => part.column), cells };
}

const COUNT = "jxs-count";
const HEAT = "jxs-heat";

/** The share of a pane's width for figures, in characters of 6.6 pixels. */
const SHARE = 0.28 / 6.6;

/** The first columns, as many as fit into the width; the first one always. */
export function fitting(all: Figures | null, width: number): Figures | null {
  if (!all) return null;
  let left = width * SHARE;
  const columns = all.columns.filter((column, index) => {
    left -= column.width;
    return left >= 0 || index === 0;
  });
  return { columns, cells: (line) => all.cells(line)?.slice(0, columns.length) ?? null };
}

/** Beside the source: time, FLOPs, and counts of equations and instructions. */
export function sourceFigures(model: ReportModel): Figures | null {
  const rows = model.figures?.lines[model.source];
  if (!rows || !model.programJson) return cellFigures(model);
  const known = Object.values(rows);
  // A bare record, or a program without equations: no column heads without figures.
  if (!known.length) return null;
  const total =
    model.figures?.unattributed?.total ?? known.reduce((sum, row) => sum + (row.flops ?? 0), 0);
  const wide = known.some((row) => row.flops_bracket);
  const phases = differentiates(model);
  const time = timeOf("share of the time of a call");
  const flop: Part<LineFiguresJson> = {
    column: {
      title: "FLOP",
      hint: "FLOPs per call, and their share",
      css: HEAT,
      width: wide ? 16 : 9,
    },
    cell: (row) => {
      const text = bracketed(row.flops_bracket, short);
      if (row.flops === null) return text || UNKNOWN;
      const bar = total ? row.flops / total : 0;
      return { text: text || `${inexact(row)}${short(row.flops)}`, bar };
    },
  };
  const equations: Part<LineFiguresJson> = {
    column: { title: "eqns", hint: "equations of the jaxpr", css: COUNT, width: 5 },
    cell: (row) => String(row.equations),
  };
  const instructions: Part<LineFiguresJson> = {
    column: { title: "instr", hint: "instructions of the optimized HLO", css: COUNT, width: 6 },
    cell: (row) =>
      row.instructions === null ? UNKNOWN : `${inexact(row)}${String(row.instructions)}`,
  };
  const backward: Part<LineFiguresJson> = {
    column: {
      title: "bwd",
      hint: "share of the line's FLOPs in the backward pass",
      css: COUNT,
      width: 6,
    },
    cell: ({ flops, backward }) =>
      flops ? percent((backward?.flops ?? 0) / flops) : backward?.equations ? UNKNOWN : "",
  };
  const timed = known.some((row) => row.time);
  const parts = [...(timed ? [time] : []), flop, ...(phases ? [backward] : [])];
  return figures([...parts, equations, instructions], (line) => rows[line]);
}

/** For a cell without a program: times only. */
function cellFigures(model: ReportModel): Figures | null {
  const rows = model.source === 0 ? (model.data.lines ?? {}) : {};
  const timed = Object.values(rows).some((row) => row.time);
  return figures(timed ? [timeOf("share of the time of the cell")] : [], (line) => rows[line]);
}

function timeOf(hint: string): Part<Pick<LineFiguresJson, "time">> {
  return {
    column: { title: "time", hint, css: HEAT, width: 8 },
    cell: ({ time }) =>
      time ? { text: `${approximate(time)}${percent(time.share)}`, bar: time.share } : "",
  };
}

/** No `≈` before `< 0.1 %`. */
function approximate({ estimate, share }: { estimate: boolean; share: number }): string {
  return estimate && share >= 0.001 ? "≈" : "";
}

function inexact(row: LineFiguresJson): string {
  return row.at_least ? "≥" : row.exact ? "" : "≈";
}

/** `0 … 131 k`; empty for a figure without a bracket. */
export function bracketed(
  bracket: BracketJson | undefined,
  words: (value: Figure) => string,
): string {
  return bracket ? `${words(bracket.low)} … ${words(bracket.high)}` : "";
}

/** The costliest of some lines of the optimized HLO: by time, else by bytes, which an instruction inside
 *  a fusion does not move; the first one without figures. */
export function costliest(
  lines: readonly number[],
  rows: Readonly<Record<string, InstructionFiguresJson>>,
): number | undefined {
  const weight = (line: number): readonly [number, number] => {
    const row = rows[String(line)];
    return [row?.share ?? 0, (row?.bytes ?? 0) * (row?.times ?? 0)];
  };
  let best = lines[0];
  let most: readonly [number, number] = [0, 0];
  for (const line of lines) {
    const next = weight(line);
    if (next[0] < most[0] || (next[0] === most[0] && next[1] <= most[1])) continue;
    [best, most] = [line, next];
  }
  return best;
}

/** Beside the optimized HLO: share of the time, FLOPs, bytes. */
export function instructionFigures(model: ReportModel): Figures | null {
  const rows = model.instructions;
  const all = Object.values(rows);
  if (!all.length) return null;
  const most = all.reduce((most, row) => Math.max(most, (row.flops ?? 0) * row.times), 0);
  const time: Part<InstructionFiguresJson> = {
    column: { title: "time", hint: "share of the time of a call", css: HEAT, width: 8 },
    cell: ({ share }) => (share === undefined ? "" : { text: percent(share), bar: share }),
  };
  const flop: Part<InstructionFiguresJson> = {
    column: {
      title: "FLOP",
      hint: "FLOPs per call; the longest bar is the largest",
      css: HEAT,
      width: 8,
    },
    cell: ({ flops, times }) =>
      flops === null
        ? UNKNOWN
        : { text: flops ? short(flops * times) : "", bar: most ? (flops * times) / most : 0 },
  };
  const bytes: Part<InstructionFiguresJson> = {
    column: { title: "bytes", hint: "bytes read and written per call", css: COUNT, width: 8 },
    cell: (row) => (row.bytes === null ? UNKNOWN : row.bytes ? short(row.bytes * row.times) : ""),
  };
  const timed = all.some((row) => row.share !== undefined);
  const parts = [...(timed ? [time] : []), flop, bytes];
  return figures(parts, (line) => rows[line]);
}
