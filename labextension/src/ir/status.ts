/** The selection in words: the status line, and the foot of each pane. */

import type { LineOrigin } from "../links";
import type { ReportModel, Selection } from "../model";
import {
  type LineFiguresJson,
  type Phase,
  STAGE_KIND_LABELS,
  type StageKind,
} from "../schema/report";
import { count, flops, lineNames, listed, percent, seconds, size as sizeOf } from "../words";
import { eliminatedOf, PHASES } from "./dress";
import { bracketed, inexact, lineFigures } from "./figures";
import type { Fusion, Fusions } from "./fusions";

const HOW_MANY = 3;
const MOST_PRIMITIVES = 3;
const NOT_COMPILED = "no instruction of its own in the compiled program";

/** The texts that the words refer to. */
export interface Texts {
  /** The fusions of the optimized HLO; null while its text is absent. */
  fusions(): Fusions | null;
  /** The name of the instruction on a line of the optimized HLO. */
  name(line: number): string;
  /** The lines of a stage; none while its text is absent. */
  lines(kind: StageKind): readonly string[];
}

/** The parts of the status line: place, equations, instructions, cost, certainty. */
export function statusWords(model: ReportModel, selection: Selection, texts: Texts): string[] {
  const { origin } = selection;
  if (origin === "source" || origin === "tab") return ofSource(model, selection, texts);
  return ofStage(model, origin === "graph" ? "optimized_hlo" : origin, selection, texts);
}

/** `Line 12`, `3.5 %`, `217 µs (fwd 60 µs, bwd 157 µs)`, `memory-bound`, `5 equations → 3 fusions`, … */
function ofSource(model: ReportModel, selection: Selection, texts: Texts): string[] {
  const { line, soft, hot } = selection;
  const where =
    model.source === 0 ? `Line ${line}` : `${sourceName(model, model.source)} line ${line}`;
  const figures = lineFigures(model)[line] ?? {};
  const costs = [...timeWords(figures), ...costWords(figures)];
  const saved = figures.residuals ? [`saves ${sizeOf(figures.residuals)} for backward`] : [];
  const none = model.unlinked ? [] : ["no equation"];
  if (!soft.size) return [where, ...timeWords(figures), ...none];
  if (hot.size === soft.size) {
    const apart = remarkWords(model, hot, texts);
    return [where, ...costs, ...equationWords(model, hot, "", line, texts), ...apart, ...saved];
  }
  // Figures are per line, not per expression.
  const [first, ...rest] = [...costs, ...saved];
  return [
    `${where}: ${primitives(model, hot)}`,
    ...equationWords(model, hot, ` of ${soft.size}`, line, texts),
    ...(first ? [`the whole line: ${first}`, ...rest] : []),
  ];
}

function timeWords({ time, limit }: Partial<LineFiguresJson>): string[] {
  if (!time) return limit ? [limit] : [];
  const mark = time.estimate ? "≈" : "";
  const { backward } = time;
  const forward = (time.seconds ?? 0) - (backward ?? 0);
  const by = backward
    ? forward > 0
      ? ` (fwd ${seconds(forward)}, bwd ${seconds(backward)})`
      : " (all bwd)"
    : "";
  const between = time.estimate ? [`${seconds(time.low)} to ${seconds(time.high)}`] : [];
  return [
    `${mark}${percent(time.share)}`,
    `${mark}${seconds(time.seconds)}${by}`,
    ...between,
    ...(limit ? [limit] : []),
  ];
}

function costWords(figures: Partial<LineFiguresJson>): string[] {
  const parts: string[] = [];
  const between = bracketed(figures.flops_bracket, flops);
  if (between) parts.push(between);
  else if (figures.flops) {
    const part = figures.backward?.flops;
    const bwd = part ? ` (${percent(part / figures.flops)} bwd)` : "";
    parts.push(`${inexact(figures)}${flops(figures.flops)}${bwd}`);
  }
  const moved = bracketed(figures.bytes_bracket, sizeOf);
  if (moved || figures.bytes) parts.push(moved || sizeOf(figures.bytes ?? 0));
  return parts;
}

/** `5 equations (← 2 backward) → 3 fusions`, and how sure that is. */
function equationWords(
  model: ReportModel,
  ids: ReadonlySet<number>,
  of: string,
  line: number,
  texts: Texts,
): string[] {
  const phase = phases(model, ids).join(", ");
  const number = `${of ? `${ids.size}${of} equations` : count(ids.size, "equation")}${phase && ` (${phase})`}`;
  const found = lines(model, "optimized_hlo", ids);
  const fusions = texts.fusions();
  if (!found || !fusions) return [number];
  if (!found.length) {
    const reason = whyGone(model, ids);
    return [`${number} → ${reason === undefined ? NOT_COMPILED : `no instruction: ${reason}`}`];
  }
  const fused = new Set(found.flatMap((each) => fusions.of(each) ?? []));
  const alone = found.filter((each) => !fusions.of(each));
  const parts: string[] = [];
  const [only] = fused;
  if (fused.size === 1 && only) {
    const others = linesIn(model, only).filter((each) => each !== line);
    const beside = others.length ? ` with ${lineNames(others, HOW_MANY)}` : "";
    parts.push(`fused into ${only.name}${beside}`);
  } else if (fused.size) parts.push(count(fused.size, "fusion"));
  const [first] = alone;
  if (alone.length === 1 && first) parts.push(texts.name(first) || "1 instruction");
  else if (alone.length) parts.push(count(alone.length, "instruction"));
  const sure = approximateOf(model, "optimized_hlo", found);
  return [`${number} → ${parts.join(", ")}`, ...(sure ? [sure] : [])];
}

/** `not fused: 262 kB %tanh.1 → %sort.0, since sort has a kernel … (and 2 more)`: the largest value that
 *  the line computes or reads. Empty until the fusion remarks were compiled. */
function remarkWords(model: ReportModel, ids: ReadonlySet<number>, texts: Texts): string[] {
  const [first, ...rest] = lines(model, "remarks", ids) ?? [];
  if (!first) return [];
  const text = texts.lines("remarks");
  const [pair = "", reason = ""] = [text[first - 1], text[first]].map((each) => each?.trim());
  const more = rest.length ? ` (and ${rest.length} more)` : "";
  return [`not fused: ${pair.replace(/ {2,}/, " ")}, since ${reason}${more}`];
}

/** The reason why the first eliminated one of these equations is gone. */
function whyGone(model: ReportModel, ids: ReadonlySet<number>): string | undefined {
  const eliminated = eliminatedOf(model);
  return [...ids].map((id) => eliminated.get(id)).find(Boolean);
}

function ofStage(
  model: ReportModel,
  kind: StageKind,
  selection: Selection,
  texts: Texts,
): string[] {
  const { line, soft } = selection;
  const parts = [`${STAGE_KIND_LABELS[kind]} line ${line}`];
  if (kind === "optimized_hlo") parts.push(...instruction(model, line, texts));
  if (!soft.size) return model.unlinked ? parts : [...parts, "no equation is linked to it"];
  parts.push(
    soft.size === 1
      ? primitives(model, soft)
      : `${primitives(model, soft)} (${soft.size} equations)`,
    ...phases(model, soft),
  );
  parts.push(origin(model, soft));
  const reason = kind === "jaxpr" && whyGone(model, soft);
  if (reason) parts.push(reason);
  if (!selection.exact) parts.push(`≈ ${selection.why || "approximate match"}`);
  return parts;
}

/** Name, fusion, shape, work and time of an instruction. */
function instruction(model: ReportModel, line: number, texts: Texts): string[] {
  const parts: string[] = [];
  const name = texts.name(line);
  if (name) parts.push(name);
  const fusion = texts.fusions()?.of(line);
  if (fusion && fusion.line !== line && name) parts.push(`inside ${fusion.name}`);
  const figures = model.instructions[line];
  if (!figures) return parts;
  if (figures.shape) parts.push(figures.shape);
  if (figures.flops) parts.push(flops(figures.flops));
  if (figures.bytes) parts.push(sizeOf(figures.bytes));
  if (figures.times > 1) parts.push(`${figures.times} times per call`);
  if (figures.seconds !== undefined) {
    const share = figures.share === undefined ? "" : `, ${percent(figures.share)} of the time`;
    parts.push(`${seconds(figures.seconds)}${share}`);
  }
  return parts;
}

/** `← lines 3 and 5`, in the shown source, else in the first one that has them. */
function origin(model: ReportModel, ids: ReadonlySet<number>): string {
  const here = homesOf(model, ids, model.source);
  if (here.length) return `← ${lineNames(here, HOW_MANY)}`;
  for (const [source] of model.data.record.sources.entries()) {
    const found = homesOf(model, ids, source);
    if (found.length) return `← ${sourceName(model, source)} ${lineNames(found, HOW_MANY)}`;
  }
  return "not from a line of your code";
}

/** `unattributed: 1.2 kFLOP, of line 3 or 4, 64 kB moved, 2 % of the time`; empty where all figures
 *  have a line. */
export function unattributedWords(model: ReportModel): string {
  const rest = model.figures?.unattributed;
  if (!rest || model.source !== 0) return "";
  const parts: string[] = [];
  const of = rest.lines.length ? `, of line ${rest.lines.join(" or ")}` : "";
  if (rest.flops) parts.push(`${flops(rest.flops)}${of}`);
  if (rest.bytes) parts.push(`${sizeOf(rest.bytes)} moved`);
  if (rest.share) parts.push(`${percent(rest.share)} of the time`);
  return parts.length ? `unattributed: ${parts.join(", ")}` : "";
}

/** The foot of one pane. */
export function paneWords(
  model: ReportModel,
  kind: StageKind,
  total: number,
  selection: Selection | null,
): string {
  if (!selection) {
    const hint = kind === "passes" ? " · a click on a pass compares before and after" : "";
    return total ? count(total, "line") + hint : "";
  }
  if (!total) return "";
  if (selection.origin === kind) return `line ${selection.line} of ${total}`;
  if (!selection.soft.size) return "—";
  const { soft, hot } = model.linesOf(kind, selection);
  if (!soft.length) return "no line is linked to it";
  const part = hot.length < soft.length ? `, ${hot.length} from the marked expression` : "";
  const approximate = approximateOf(model, kind, soft);
  const certainty = approximate || (selection.exact ? "exact" : "≈ all approximate");
  return `${count(soft.length, "line")}${part} · ${certainty}`;
}

function approximateOf(model: ReportModel, kind: StageKind, found: readonly number[]): string {
  const { byLine } = model.anchors(kind);
  const unsure = found.map((line) => byLine.get(line)).filter((each) => each?.exact === false);
  if (!unsure.length) return "";
  const [first] = unsure as LineOrigin[];
  const share = unsure.length === found.length ? "all" : String(unsure.length);
  return `≈ ${share} approximate${first?.why ? `: ${first.why}` : ""}`;
}

function lines(model: ReportModel, kind: StageKind, ids: ReadonlySet<number>): number[] | null {
  return "stage" in model.text(kind) ? model.anchors(kind).lines(ids) : null;
}

/** Lines of the shown source that contribute to a fusion. */
function linesIn(model: ReportModel, fusion: Fusion): number[] {
  const { byLine } = model.anchors("optimized_hlo");
  const ids = new Set<number>();
  for (let line = fusion.first; line <= fusion.last; line++) {
    for (const id of byLine.get(line)?.equations ?? []) ids.add(id);
  }
  for (const id of byLine.get(fusion.line)?.equations ?? []) ids.add(id);
  return homesOf(model, ids, model.source);
}

function homesOf(model: ReportModel, ids: ReadonlySet<number>, source: number): number[] {
  const homes = model.equations.homes(source);
  const found = new Set([...ids].map((id) => homes.get(id) ?? 0));
  return [...found].filter(Boolean).sort((a, b) => a - b);
}

function primitives(model: ReportModel, ids: ReadonlySet<number>): string {
  const { byId } = model.equations;
  const names = new Set([...ids].map((id) => byId.get(id)?.primitive ?? "?"));
  return listed([...names], MOST_PRIMITIVES);
}

/** `← backward`, or the number of equations that belong to it. */
function phases(model: ReportModel, ids: ReadonlySet<number>): string[] {
  const { byId } = model.equations;
  const part = (phase: Phase, mark: string, words: string) => {
    const number = [...ids].filter((id) => byId.get(id)?.phase === phase).length;
    return number ? [`${mark} ${number === ids.size ? "" : `${number} `}${words}`] : [];
  };
  return [
    ...part("backward", "←", "backward"),
    ...part("rematerialized", "↻", PHASES.rematerialized),
  ];
}

function sourceName(model: ReportModel, source: number): string {
  return model.data.record.sources[source]?.name ?? "a different source";
}
