/** The state of the viewer: report, chosen program and source, available texts, and one selection for all views. */

import { bytesOf, gunzipJson } from "./gzip";
import { type Absence, type Host, TextAbsent } from "./host";
import { Anchors, between, cached, Equations } from "./links";
import {
  type InstructionFiguresJson,
  type PayloadJson,
  type ProgramFiguresJson,
  type ProgramJson,
  type ReportDataJson,
  readStageAnswer,
  STAGE_KIND_COSTS_COMPILE,
  type StageAnswerJson,
  type StageDiffJson,
  type StageJson,
  type StageKind,
} from "./schema/report";

/** The view in which a selection was made. */
export type Origin = "source" | StageKind | "graph" | "tab";

export interface Selection {
  origin: Origin;
  line: number;
  /** The equations of the whole line. */
  soft: ReadonlySet<number>;
  /** The equations of the expression under the pointer; else those of the line. */
  hot: ReadonlySet<number>;
  exact: boolean;
  why: string;
}

/** Ascending. */
export interface Lines {
  readonly soft: number[];
  readonly hot: number[];
}

/** The text of a stage: available, requested, or absent with the reason. */
export type TextState =
  | { state: "saved" | "live"; stage: StageJson }
  | { state: "requested" }
  | { state: "priced"; seconds: number }
  | { state: "unavailable"; reason: string }
  | { state: "absent"; absence: Absence; message: string };

export type Change = "program" | "source" | "selection" | "texts";

export class ReportModel {
  program = 0;
  source = 0;
  hovered: Selection | null = null;
  pinned: Selection | null = null;
  private readonly listeners = new Map<Change, Set<() => void>>();
  private readonly texts = new Map<string, TextState>();
  /** Programs that may be compiled once more. */
  private readonly agreed = new Set<string>();
  private readonly anchorCache = new Map<string, Anchors>();
  private readonly instructionCache = new Map<number, Record<string, InstructionFiguresJson>>();
  private readonly equationCache = new Map<string, Equations>();
  private callers = true;
  /** Every pane needs the lines of the selection. */
  private readonly lineCache = new WeakMap<Selection, Map<Anchors, Lines>>();
  private readonly ends: (() => void)[] = [];

  constructor(
    readonly payload: PayloadJson,
    readonly data: ReportDataJson,
    readonly host: Host,
  ) {
    this.source = data.opens ?? 0;
    const stop = host.onReturn?.(() => this.tryAgain());
    if (stop) this.ends.push(stop);
  }

  /** Subscribes to a change; returns the unsubscribe function. */
  on(change: Change, callback: () => void): () => void {
    const known = cached(this.listeners, change, () => new Set());
    known.add(callback);
    return () => known.delete(callback);
  }

  dispose(): void {
    for (const end of this.ends) end();
    this.listeners.clear();
  }

  private notify(change: Change): void {
    for (const callback of [...(this.listeners.get(change) ?? [])]) callback();
  }

  get programJson(): ProgramJson | undefined {
    return this.data.record.programs[this.program];
  }

  get figures(): ProgramFiguresJson | undefined {
    return this.data.programs[this.program];
  }

  get equations(): Equations {
    const key = `${this.program}/${this.callers}`;
    const equations = () => new Equations(this.programJson?.equations ?? [], this.callers);
    return cached(this.equationCache, key, equations);
  }

  /** The reason why no line is linked to a stage; empty where lines are. */
  get unlinked(): string {
    const { equations = [], stages = [] } = this.programJson ?? {};
    const jaxpr = stages.find(({ kind }) => kind === "jaxpr");
    return equations.length ? "" : (jaxpr?.unavailable?.reason ?? "");
  }

  /** Whether a line is also linked to the equations of the functions that it calls. */
  get followsCallers(): boolean {
    return this.callers;
  }

  followCallers(on: boolean): void {
    if (on === this.callers) return;
    this.callers = on;
    this.hovered = this.pinned = null;
    this.notify("source");
    this.notify("selection");
  }

  /** By line of the optimized HLO. */
  get instructions(): Record<string, InstructionFiguresJson> {
    return this.instructionCache.get(this.program) ?? this.figures?.instructions ?? {};
  }

  chooseProgram(index: number): void {
    this.program = index;
    this.hovered = this.pinned = null;
    this.notify("program");
    this.notify("selection");
  }

  chooseSource(index: number): void {
    this.source = index;
    this.notify("source");
    this.notify("selection");
  }

  /** The hovered selection, else the pinned one. */
  get selection(): Selection | null {
    return this.hovered ?? this.pinned;
  }

  hover(selection: Selection | null): void {
    if (same(selection, this.hovered)) return;
    this.hovered = selection;
    this.notify("selection");
  }

  /** Pins a selection, or unpins it where it is pinned already. */
  pin(selection: Selection | null): void {
    this.pinned = same(selection, this.pinned) ? null : selection;
    this.hovered = null;
    this.notify("selection");
  }

  /** The selection of a source line, or of the expression at a column of it (-1: the line). */
  ofSource(line: number, column = -1, origin: Origin = "source"): Selection {
    const soft = new Set(this.equations.byLine(this.source).get(line) ?? []);
    const spot = column < 0 ? soft : this.equations.at(this.source, line, column);
    return { origin, line, soft, hot: spot.size ? spot : soft, exact: true, why: "" };
  }

  /** The selection of a line of a stage. */
  ofStage(kind: StageKind, line: number, origin: Origin = kind): Selection {
    const found = this.anchors(kind).byLine.get(line);
    const soft = new Set(found?.equations ?? []);
    return { origin, line, soft, hot: soft, exact: found?.exact ?? true, why: found?.why ?? "" };
  }

  /** Lines of a stage that belong to a selection: of the whole line, and of the expression. */
  linesOf(kind: StageKind, selection: Selection): Lines {
    const there = this.anchors(kind);
    const known = this.lineCache.get(selection) ?? new Map<Anchors, Lines>();
    const cached = known.get(there);
    if (cached) return cached;
    const stage = selection.origin !== "source" && selection.origin !== "tab";
    const find = (ids: ReadonlySet<number>) =>
      stage ? between(this.equations, ids, there) : there.lines(ids);
    const soft = find(selection.soft);
    const found = { soft, hot: selection.hot === selection.soft ? soft : find(selection.hot) };
    this.lineCache.set(selection, known.set(there, found));
    return found;
  }

  /** Goes to a line of a source: chooses the source and pins the line. */
  goTo(source: number, line: number): void {
    if (source !== this.source) this.chooseSource(source);
    this.pinned = null;
    this.pin(this.ofSource(line, -1, "tab"));
  }

  // Texts.

  text(kind: StageKind): TextState {
    const key = `${this.program}/${kind}`;
    const known = this.texts.get(key);
    if (known) return known;
    const stage = this.programJson?.stages.find((each) => each.kind === kind);
    if (stage?.text) return this.keep(key, { state: "saved", stage });
    if (stage?.unavailable)
      return this.keep(key, { state: "unavailable", reason: stage.unavailable.reason });
    if (this.payload.apart?.[key]) return { state: "requested" };
    if (!this.host.fetchStage || !this.payload.id)
      return this.keep(key, { state: "absent", absence: "no-kernel", message: "" });
    if (this.compiles(kind) && !this.agreed.has(this.compilation(kind)))
      return this.priced(key, kind);
    return { state: "requested" };
  }

  /** Whether a program of this device can have the stage: a CPU has no PTX. */
  mayHave(kind: StageKind): boolean {
    const saved = this.programJson?.stages.some((each) => each.kind === kind);
    return saved || !this.figures || kind in this.figures.omitted;
  }

  /** With the seconds of the first compilation, until the kernel has answered. */
  private priced(key: string, kind: StageKind): TextState {
    const asked = this.host.fetchPrice?.(this.payload.id, this.program, kind);
    asked?.then(
      (seconds) => {
        if (!seconds || this.texts.get(key)?.state !== "priced") return;
        this.keep(key, { state: "priced", seconds });
        this.notify("texts");
      },
      () => {}, // The text itself will say why the kernel does not answer.
    );
    return this.keep(key, { state: "priced", seconds: this.figures?.compile_s ?? 0 });
  }

  /** Whether the text needs one more compilation. */
  private compiles(kind: StageKind): boolean {
    return STAGE_KIND_COSTS_COMPILE.includes(kind) && !this.figures?.omitted[kind]?.free;
  }

  /** Agrees to compile this program once more, for this text and those that come with it. */
  agree(kind: StageKind): void {
    this.agreed.add(this.compilation(kind));
    for (const [key, text] of this.texts) if (text.state === "priced") this.texts.delete(key);
    this.notify("texts");
  }

  /** The compilation that gives a text: the LLVM IR before and after LLVM's passes is of one. */
  private compilation(kind: StageKind): string {
    return `${this.program}/${kind.startsWith("llvm") ? "llvm" : kind}`;
  }

  /** The program before and after a pass; undefined where there is no kernel. */
  comparePass(number: number): Promise<StageDiffJson> | undefined {
    return this.host.fetchPass?.(this.payload.id, this.program, number);
  }

  /** Requests a text that is not available. Subscribers of `texts` are notified of the answer. */
  async request(kind: StageKind): Promise<void> {
    const program = this.program;
    const key = `${program}/${kind}`;
    if (this.texts.has(key) || this.text(kind).state !== "requested") return;
    this.keep(key, { state: "requested" });
    this.notify("texts");
    try {
      const answer = await this.fetch(key, program, kind);
      if (!answer) return;
      const { stage } = answer;
      this.learn(program, answer);
      this.keep(
        key,
        stage.unavailable
          ? { state: "unavailable", reason: stage.unavailable.reason }
          : { state: "live", stage },
      );
    } catch (error) {
      const absence = error instanceof TextAbsent ? error.absence : "error";
      const message = error instanceof Error ? error.message : String(error);
      this.keep(key, { state: "absent", absence, message });
    }
    this.notify("texts");
  }

  /** From the page itself, else from the kernel. */
  private async fetch(
    key: string,
    program: number,
    kind: StageKind,
  ): Promise<StageAnswerJson | undefined> {
    const packed = this.payload.apart?.[key];
    if (!packed) return this.host.fetchStage?.(this.payload.id, program, kind);
    const answer = readStageAnswer(await gunzipJson(bytesOf(packed)));
    if (!answer) throw new Error("This text is damaged: save the report again.");
    return answer;
  }

  /** Stores the figures and equations that come with a text. */
  private learn(program: number, answer: StageAnswerJson): void {
    if (answer.instructions) this.instructionCache.set(program, answer.instructions);
    const figures = this.data.programs[program];
    if (figures && answer.eliminated?.length) figures.eliminated = answer.eliminated;
    if (figures && answer.merged) figures.merged = answer.merged;
    const known = this.data.record.programs[program];
    if (known && !known.equations.length && answer.equations?.length) {
      known.equations = answer.equations;
      this.equationCache.clear();
      this.notify("source");
    }
  }

  /** Forgets which texts were absent, so that they are requested again. */
  tryAgain(): void {
    for (const [key, text] of this.texts) {
      if (text.state === "absent") this.texts.delete(key);
    }
    this.notify("texts");
  }

  anchors(kind: StageKind): Anchors {
    const text = this.text(kind);
    const stage = "stage" in text ? text.stage : undefined;
    const key = `${this.program}/${kind}/${text.state}`;
    const inexactWhy = this.programJson?.inexact_why;
    return cached(this.anchorCache, key, () => new Anchors(stage?.anchors ?? [], inexactWhy));
  }

  private keep(key: string, state: TextState): TextState {
    this.texts.set(key, state);
    return state;
  }
}

function same(a: Selection | null, b: Selection | null): boolean {
  if (a === b) return true;
  if (!a || !b || a.origin !== b.origin || a.line !== b.line) return false;
  return a.hot.size === b.hot.size && [...a.hot].every((id) => b.hot.has(id));
}
