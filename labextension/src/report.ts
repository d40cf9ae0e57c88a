/** The JSON that Python writes: the whole contract between the two. `docs/report.schema.json` has the record. */

/** The newest payload this viewer reads. A newer one is refused with a sentence. */
export const SCHEMA = 1;
export const MIME = "application/vnd.jaxscope.report+json";

/** What stands in a notebook's output, in a page, or in a widget's trait. */
export interface Payload {
  schema: number;
  /** The version of the Python package that wrote it. */
  version: string;
  /** uuid4: names the report to the kernel that made it. Empty for a page. */
  id: string;
  /** The first line, shown before anything is unpacked. */
  summary: string;
  /** JSON of `Data`, or of `DiffData` where the kind is `diff`, gzipped, base64. */
  data: string;
  /** Left out for a report. */
  kind?: "diff";
}

export interface Data {
  record: RecordJson;
  /** Beside each program of the record. */
  programs: ProgramFigures[];
  /** Everything that Python sets in words, tables and static pictures. */
  tabs: Tab[];
  /** Markup of the findings' list, with `data-source` and `data-line` on its links. */
  findings: string;
  /** The facts of the first line: title first. */
  first: string[];
  /** Why there is no program, in whole sentences. */
  nothing?: string;
  /** Without a program, what is known of the lines of the first source all the same. */
  lines?: Record<string, Pick<LineFigures, "time">>;
}

export interface Tab {
  key: string;
  title: string;
  /** One entry a program; a null program means the whole run. */
  sections: TabSection[];
  /** Kinds of plotly figures that the host can be asked for. */
  figures?: string[];
}

export interface TabSection {
  program: number | null;
  heading: string;
  /** Static HTML and SVG without script; set through `markup.ts`, which copies an allow-list. */
  markup: string;
}

/** Two reports side by side (`jaxscope/view/diff/payload.py`). */
export interface DiffData {
  /** The facts of the first line: title first. */
  first: string[];
  notes: string[];
  /** Figures, sources, findings, values: everything but the stages, whose program is null. */
  tabs: Tab[];
  /** Of the costliest pair of programs first. */
  stages: StageDiffJson[];
}

export interface StageDiffJson {
  kind: StageKind;
  /** `optimized HLO: 3 changed, 1 added`. */
  title: string;
  /** Sentences: how much moved, what is doubtful, why it could not be compared. */
  lead: string[];
  /** Null where the text was left out to keep the notebook small, or is not to be had. */
  before: string | null;
  after: string | null;
  groups: DiffGroupJson[];
}

/** Changes that belong to one line of the code; structural ones, so renumbered names are none. */
export interface DiffGroupJson {
  caption: string;
  /** Line of the earlier and of the later text; null on the side that does not have it. */
  changes: (readonly [before: number | null, after: number | null])[];
}

export interface ProgramFigures {
  /** By source: line → what belongs to it. */
  lines: Record<string, LineFigures>[];
  /** By line of the optimized HLO. Comes with the text: absent while the text is not here. */
  instructions?: Record<string, InstructionFigures>;
  /** Equations that surely left no instruction, with the reason: to be dimmed. */
  eliminated?: Eliminated[];
  /** Equations that no instruction is known of, and whose work may go on inside another's: not to be dimmed. */
  merged?: Eliminated[];
  /** Stages whose text was left out of the saved output, and how large they are where known. */
  omitted: Partial<Record<StageKind, { lines: number | null; bytes: number | null }>>;
  /** What to call it among several programs, no two of one name; and its own first line. */
  title?: string;
  first?: string[];
}

export interface Eliminated {
  equation: number;
  reason: string;
}

export interface LineFigures {
  equations: number;
  instructions: number | null;
  flops: number | null;
  exact: boolean;
  backward?: { equations: number; flops: number | null };
  /** Seconds a call and their share, when profiled. */
  time?: { seconds: number; share: number; low: number; high: number; estimate: boolean };
}

export interface InstructionFigures {
  shape: string;
  flops: number | null;
  bytes: number | null;
  /** Executions in one run. */
  times: number;
  seconds?: number;
  /** Of the call, when profiled. */
  share?: number;
}

export const STAGES = ["jaxpr", "stablehlo", "hlo", "optimized_hlo"] as const;
export type StageKind = (typeof STAGES)[number];

export type Span = readonly [line: number, column: number, endLine: number, endColumn: number];

export interface FrameJson {
  source: number | null;
  file: string;
  function: string;
  span: Span;
}

export type Phase = "primal" | "forward" | "backward" | "rematerialized";

export interface EquationJson {
  id: number;
  primitive: string;
  span: Span | null;
  frames: FrameJson[];
  phase: Phase;
  parent: number | null;
  scope?: string;
  inputs?: string[];
  outputs?: string[];
}

export interface AnchorJson {
  line: number;
  equations: number[];
  /** Left out when true. */
  exact?: boolean;
  why?: string;
}

export interface StageJson {
  kind: StageKind;
  text?: string;
  unavailable?: { reason: string };
  anchors?: AnchorJson[];
}

export interface ProgramJson {
  name: string;
  transforms: string[];
  equations: EquationJson[];
  stages?: StageJson[];
  exact?: boolean;
  inexact_why?: string;
}

export interface SourceJson {
  name: string;
  file: string;
  kind: "cell" | "other_cell" | "module";
  text: string;
}

export interface FindingJson {
  kind: string;
  line: number | null;
  source?: number;
  message: string;
  fix?: string;
  evidence?: string;
}

/** The parts of `jaxscope.model.Record` that a view reads. */
export interface RecordJson {
  title: string;
  form: string;
  created: string;
  environment: { jaxscope: string; jax: string };
  sources: SourceJson[];
  programs: ProgramJson[];
  findings?: FindingJson[];
  notes?: string[];
  schema: number;
}
