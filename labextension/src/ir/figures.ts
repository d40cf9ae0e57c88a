/** The figure beside the lines: one column, of one measure. */

import { cached } from "../links";
import type { ReportModel } from "../model";
import type { BracketJson, InstructionFiguresJson, LineFiguresJson } from "../schema/report";
import type { Cell, Column, Figures } from "../text/look";
import { type Figure, percent, short, size, UNKNOWN } from "../words";

const MEASURES = ["time", "FLOPs", "bytes", "residuals"] as const;
export type Measure = (typeof MEASURES)[number];

const HINTS: Readonly<Record<Measure, string>> = {
  time: "share of the time of a call",
  FLOPs: "FLOPs per call",
  bytes: "bytes read and written per call",
  residuals: "bytes saved for the backward pass",
};

type Row = Partial<LineFiguresJson>;

/** The figures of a line of the shown source; of a cell without a program its time. */
export function lineFigures(model: ReportModel): Readonly<Record<string, Row>> {
  if (model.programJson) return model.figures?.lines[model.source] ?? {};
  return model.source === 0 ? (model.data.lines ?? {}) : {};
}

/** The measures that some line has; the first one is shown at first. */
export function measuresOf(model: ReportModel): Measure[] {
  const rows = Object.values(lineFigures(model));
  const known: Readonly<Record<Measure, (row: Row) => unknown>> = {
    time: (row) => row.time,
    FLOPs: (row) => row.flops || row.flops_bracket,
    bytes: (row) => row.bytes || row.bytes_bracket,
    residuals: (row) => row.residuals,
  };
  return MEASURES.filter((measure) => rows.some(known[measure]));
}

/** The line of the shown source that takes the most measured time. */
export function hottestLine(model: ReportModel): number | undefined {
  const timed = Object.entries(lineFigures(model)).filter(([, { time }]) => time);
  const share = ([, { time }]: [string, Row]) => time?.share ?? 0;
  const [hottest] = timed.sort((one, other) => share(other) - share(one));
  return hottest && Number(hottest[0]);
}

/** Beside the source. */
export function sourceFigures(model: ReportModel, measure: Measure | undefined): Figures | null {
  const rows = lineFigures(model);
  if (!measure) return null;
  const known = Object.values(rows);
  const sum = (of: (row: Row) => Figure) => known.reduce((sum, row) => sum + (of(row) ?? 0), 0);
  const rest = model.source === 0 ? model.figures?.unattributed : undefined;
  const cells: Readonly<Record<Measure, (row: Row) => Cell>> = {
    time: ({ time }) =>
      time ? { text: `${approximate(time)}${percent(time.share)}`, bar: time.share } : "",
    FLOPs: (row) => {
      const text = row.flops_bracket
        ? compact(row.flops_bracket, short)
        : row.flops
          ? `${inexact(row)}${short(row.flops)}`
          : "";
      return text && { text, bar: part(row.flops, rest?.total ?? sum((each) => each.flops)) };
    },
    bytes: (row) => {
      const text = row.bytes_bracket
        ? compact(row.bytes_bracket, size)
        : row.bytes
          ? size(row.bytes)
          : "";
      const total = sum((each) => each.bytes) + (rest?.bytes ?? 0);
      return text && { text, bar: part(row.bytes, total) };
    },
    residuals: ({ residuals }) =>
      residuals
        ? {
            text: size(residuals),
            bar: part(
              residuals,
              sum((each) => each.residuals),
            ),
          }
        : "",
  };
  const found = new Map(
    Object.entries(rows).map(([line, row]) => [Number(line), cells[measure](row)]),
  );
  const width = widest([...found.values()].map(textOf));
  return column(measure, width, (line) => found.get(line));
}

/** The figures of the instructions by measure: they are long, and do not change. */
const known = new WeakMap<Rows, Map<Measure, Figures | null>>();
type Rows = Readonly<Record<string, InstructionFiguresJson>>;

/** Beside the optimized HLO; the longest bar is the largest. */
export function instructionFigures(
  model: ReportModel,
  measure: Measure | undefined,
): Figures | null {
  if (!measure || measure === "residuals") return null;
  const rows: Rows = model.instructions;
  const made = cached(known, rows, () => new Map<Measure, Figures | null>());
  return cached(made, measure, () => ofInstructions(rows, measure));
}

/** Only the cells in sight are put into words, and each amount once for the width. */
function ofInstructions(rows: Rows, measure: Exclude<Measure, "residuals">): Figures | null {
  const [amount, words] = AMOUNTS[measure];
  const amounts = new Set<Figure>();
  let most = 0;
  for (const row of Object.values(rows)) {
    const found = amount(row);
    amounts.add(found);
    most = Math.max(most, found ?? 0);
  }
  const whole = measure === "time" ? 1 : most;
  const isShown = (found: Figure) => Boolean(found) || (found === 0 && measure === "time");
  const text = (found: Figure) => {
    if (found === null) return UNKNOWN;
    return isShown(found) ? words(found) : "";
  };
  return column(measure, widest([...amounts].map(text)), (line) => {
    const row = rows[line];
    if (!row) return undefined;
    const found = amount(row);
    return isShown(found) ? { text: text(found), bar: part(found, whole) } : text(found);
  });
}

type Amount = (row: InstructionFiguresJson) => Figure;
const times = (found: Figure, { times }: InstructionFiguresJson) => found && found * times;

/** Per call; null where it is unknown. */
const AMOUNTS: Readonly<
  Record<Exclude<Measure, "residuals">, [Amount, (value: Figure) => string]>
> = {
  time: [(row) => row.share, percent],
  FLOPs: [(row) => times(row.flops, row), short],
  bytes: [(row) => times(row.bytes, row), size],
};

/** A column of this width; none where every cell is empty. */
function column(
  measure: Measure,
  width: number,
  cell: (line: number) => Cell | undefined,
): Figures | null {
  if (!width) return null;
  const columns: Column[] = [
    { title: measure, hint: HINTS[measure], css: "jxs-heat", width: width + 2 },
  ];
  return {
    columns,
    cells: (line) => {
      const found = cell(line);
      return found === undefined ? null : [found];
    },
  };
}

function widest(texts: readonly string[]): number {
  return texts.reduce((most, text) => Math.max(most, text.length), 0);
}

function textOf(cell: Cell): string {
  return typeof cell === "string" ? cell : cell.text;
}

function part(value: Figure, whole: number): number {
  return whole ? (value ?? 0) / whole : 0;
}

/** No `≈` before `< 0.1 %`. */
function approximate({ estimate, share }: { estimate: boolean; share: number }): string {
  return estimate && share >= 0.001 ? "≈" : "";
}

export function inexact(row: Row): string {
  return row.at_least ? "≥" : row.exact ? "" : "≈";
}

/** `0 … 131 k`; empty for a figure without a bracket. */
export function bracketed(
  bracket: BracketJson | undefined,
  words: (value: Figure) => string,
): string {
  return bracket ? `${words(bracket.low)} … ${words(bracket.high)}` : "";
}

/** `68.7…136 M`: the unit of both once. */
function compact(bracket: BracketJson, words: (value: Figure) => string): string {
  const [low, high] = [words(bracket.low), words(bracket.high)];
  const [figure = "", unit] = low.split(" ");
  return `${unit && high.endsWith(` ${unit}`) ? figure : low}…${high}`;
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
