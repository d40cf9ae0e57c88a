/** Reads what Python wrote: unpacks it, checks it, and says in a sentence what is wrong. */

import { bytesOf, gunzip } from "./gzip";
import { type Data, type DiffData, type Payload, type RecordJson, SCHEMA } from "./report";
import { VERSION } from "./version";

/** The message is a whole sentence for the reader of the report. */
export class UnreadablePayload extends Error {}

export type Read =
  | { kind: "report"; payload: Payload; data: Data; notes: string[] }
  | { kind: "diff"; payload: Payload; diff: DiffData; notes: string[] };

type Json = { [key: string]: unknown };

/** A report or a comparison, from a notebook's output, a page, a widget's trait or a saved file.
 *
 * Rejects with `UnreadablePayload`. `notes` are sentences to show beside the report.
 */
export async function readPayload(value: unknown, viewer = VERSION): Promise<Read> {
  const json = typeof value === "string" ? parsed(value) : value;
  if (!isObject(json)) throw foreign();
  refuseFuture(json);
  if (isRecord(json)) return wrapped(json);
  if (typeof json.data !== "string" || typeof json.schema !== "number") throw foreign();
  const payload: Payload = {
    schema: json.schema,
    version: text(json.version),
    id: text(json.id),
    summary: text(json.summary),
    data: json.data,
    ...(json.kind === "diff" ? { kind: "diff" as const } : {}),
  };
  const data = parsed(await unpacked(payload.data));
  if (!isObject(data)) throw damaged("what is packed in it is no JSON object");
  const notes = versionNotes(payload.version, viewer);
  if (payload.kind === "diff") return { kind: "diff", payload, diff: checkedDiff(data), notes };
  return { kind: "report", payload, data: checked(data), notes };
}

async function unpacked(data: string): Promise<string> {
  try {
    return new TextDecoder().decode(await gunzip(bytesOf(data)));
  } catch (error) {
    if (error instanceof RangeError) {
      throw new UnreadablePayload(`${error.message} Open it in Python: jaxscope.load(path).`);
    }
    throw damaged("it does not unpack");
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw damaged("it is no whole JSON");
  }
}

function damaged(how: string): UnreadablePayload {
  return new UnreadablePayload(
    `This report is cut short or damaged: ${how}. Save it again, or run its cell again.`,
  );
}

function foreign(): UnreadablePayload {
  return new UnreadablePayload(
    "This is JSON, but no report of jaxscope: report.save(path) writes one that this viewer reads.",
  );
}

function refuseFuture(json: Json): void {
  if (typeof json.schema !== "number" || json.schema <= SCHEMA) return;
  const environment = isObject(json.environment) ? json.environment : {};
  const version = text(json.version) || text(environment.jaxscope);
  const writer = version ? `jaxscope ${version}` : "a newer jaxscope";
  throw new UnreadablePayload(
    `This report was written by ${writer} in schema ${json.schema}, and this viewer reads up to ` +
      `schema ${SCHEMA}: upgrade jaxscope where the notebook is opened (pip install -U jaxscope).`,
  );
}

function versionNotes(writer: string, viewer: string): string[] {
  if (!writer || writer === viewer) return [];
  return [
    `Written by jaxscope ${writer}, shown by the viewer of ${viewer}: ` +
      "what only one of them knows is left out.",
  ];
}

// A bare record: what `report.save(path)` writes.

function isRecord(json: Json): boolean {
  return Array.isArray(json.programs) && Array.isArray(json.sources) && isObject(json.environment);
}

function wrapped(json: Json): Read {
  const record = checkedRecord(json);
  const version = record.environment.jaxscope;
  const payload = { schema: record.schema, version, id: "", summary: record.title, data: "" };
  const found = (record.findings ?? []).map((finding) => {
    const source = finding.source ?? 0;
    const linked = finding.line !== null && source < record.sources.length;
    const place = finding.line === null ? "program" : `line ${finding.line}`;
    const link = linked ? `a data-source="${source}" data-line="${finding.line}"` : "b";
    return (
      `<li><${link} class="place">${escaped(place)}</${link.charAt(0)}> ` +
      `<strong>${escaped(finding.message)}</strong>` +
      `${finding.fix ? `<div class="fix">→ ${escaped(finding.fix)}</div>` : ""}</li>`
    );
  });
  const data: Data = {
    record,
    programs: record.programs.map(() => ({ lines: record.sources.map(() => ({})), omitted: {} })),
    tabs: [],
    findings: found.length ? `<ol class="findings">${found.join("")}</ol>` : "",
    first: [
      record.title,
      ...record.programs.slice(0, 1).map(() => `jax ${record.environment.jax}`),
    ],
  };
  const notes = [
    "This file holds the record alone: its tables and figures come from Python, " +
      "jaxscope.load(path) shows them.",
  ];
  return { kind: "report", payload, data, notes };
}

function escaped(words: string): string {
  return words.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}

// Only what the views rely on is checked; what Python leaves out as a default is put back.

function checked(json: Json): Data {
  if (!isObject(json.record)) throw damaged("the record is missing");
  const record = checkedRecord(json.record);
  const figures = objects(json.programs);
  return {
    record,
    programs: record.programs.map((_, i) => {
      const found = figures[i] ?? {};
      const lines = objects(found.lines);
      return {
        ...found,
        lines: record.sources.map((_, j) => lines[j] ?? {}),
        omitted: isObject(found.omitted) ? found.omitted : {},
        title: text(found.title),
        first: strings(found.first),
      } as Data["programs"][number];
    }),
    tabs: checkedTabs(json.tabs),
    findings: text(json.findings),
    first: strings(json.first).length ? strings(json.first) : [record.title],
    nothing: text(json.nothing),
    lines: (isObject(json.lines) ? json.lines : {}) as Data["lines"],
  };
}

function checkedDiff(json: Json): DiffData {
  const stages = objects(json.stages).filter((stage) => typeof stage.title === "string");
  return {
    first: strings(json.first),
    notes: strings(json.notes),
    tabs: checkedTabs(json.tabs),
    stages: stages.map((stage) => ({
      kind: text(stage.kind) as DiffData["stages"][number]["kind"],
      title: text(stage.title),
      lead: strings(stage.lead),
      before: typeof stage.before === "string" ? stage.before : null,
      after: typeof stage.after === "string" ? stage.after : null,
      groups: objects(stage.groups).map((group) => ({
        caption: text(group.caption),
        changes: (Array.isArray(group.changes) ? group.changes : []).filter(isChange),
      })),
    })),
  };
}

function isChange(value: unknown): value is [number | null, number | null] {
  const isLine = (line: unknown) => line === null || typeof line === "number";
  return Array.isArray(value) && value.length === 2 && value.every(isLine);
}

function checkedTabs(value: unknown): Data["tabs"] {
  return objects(value).map((tab) => ({
    key: text(tab.key),
    title: text(tab.title),
    sections: objects(tab.sections).map((section) => ({
      program: typeof section.program === "number" ? section.program : null,
      heading: text(section.heading),
      markup: text(section.markup),
    })),
    figures: strings(tab.figures),
  }));
}

function checkedRecord(json: Json): RecordJson {
  for (const name of ["sources", "programs"]) {
    const found = json[name];
    if (!Array.isArray(found) || !found.every(isObject)) {
      throw damaged(`the record's ${name} are missing`);
    }
  }
  const environment = isObject(json.environment) ? json.environment : {};
  const record = {
    ...json,
    title: text(json.title),
    form: text(json.form),
    created: text(json.created),
    environment: {
      ...environment,
      jaxscope: text(environment.jaxscope),
      jax: text(environment.jax),
    },
    sources: objects(json.sources).map((source) => ({
      ...source,
      name: text(source.name),
      text: text(source.text),
    })),
    programs: objects(json.programs).map((program) => ({
      ...program,
      name: text(program.name),
      transforms: strings(program.transforms),
      equations: objects(program.equations).map((equation) => ({
        ...equation,
        frames: objects(equation.frames).filter((frame) => Array.isArray(frame.span)),
      })),
      stages: objects(program.stages).map((stage) => ({
        ...stage,
        anchors: objects(stage.anchors).filter((anchor) => Array.isArray(anchor.equations)),
      })),
    })),
    findings: objects(json.findings).map((finding) => ({
      ...finding,
      message: text(finding.message),
      line: typeof finding.line === "number" ? finding.line : null,
    })),
    notes: strings(json.notes),
    schema: typeof json.schema === "number" ? json.schema : SCHEMA,
  };
  return record as unknown as RecordJson;
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function objects(value: unknown): Json[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}
