/** Opens what Python wrote: unpacks it, checks it, and reports in a sentence what is wrong. */

import { bytesOf, gunzip } from "./gzip";
import { object, string } from "./json";
import {
  type DiffDataJson,
  type PayloadJson,
  type ReportDataJson,
  readComparisonData,
  readDiffData,
  readPayload,
  readRecord,
  readReportData,
  SCHEMA,
  VERSION,
} from "./schema/report";

/** The message is a whole sentence for the reader of the report. */
export class UnreadablePayload extends Error {}

export type Loaded =
  | { kind: "report"; payload: PayloadJson; data: ReportDataJson; notes: string[] }
  | { kind: "diff"; payload: PayloadJson; diff: DiffDataJson; notes: string[] }
  | { kind: "comparison"; payload: PayloadJson; markup: string; notes: string[] };

type Json = Readonly<Record<string, unknown>>;

/** A report or a comparison, from a notebook's output, a page, a widget's trait or a saved file.
 *
 * Rejects with `UnreadablePayload`. `notes` are sentences to show beside the report.
 */
export async function loadPayload(value: unknown, viewer = VERSION): Promise<Loaded> {
  const json = object(typeof value === "string" ? parsed(value) : value);
  if (!json) throw foreign();
  refuseNewer(json);
  if (Array.isArray(json.programs) && Array.isArray(json.sources) && object(json.environment)) {
    return bareRecord(json);
  }
  const payload = readPayload(json);
  if (!payload?.data) throw foreign();
  const data = object(parsed(await unpacked(payload.data)));
  if (!data) throw damaged("its content is not a JSON object");
  const notes = versionNotes(payload.version, viewer);
  if (payload.kind === "diff") {
    const diff = readDiffData(data);
    if (!diff) throw damaged("the comparison is incomplete");
    return { kind: "diff", payload, diff, notes };
  }
  if (payload.kind === "comparison") {
    const found = readComparisonData(data);
    if (!found?.markup) throw damaged("the comparison is missing");
    return { kind: "comparison", payload, markup: found.markup, notes };
  }
  return { kind: "report", payload, data: reportOf(data), notes };
}

async function unpacked(data: string): Promise<string> {
  try {
    return await gunzip(bytesOf(data));
  } catch (error) {
    if (error instanceof RangeError) {
      throw new UnreadablePayload(`${error.message} Open it in Python: jaxscope.load(path).`);
    }
    throw damaged("it cannot be unpacked");
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw damaged("it is not complete JSON");
  }
}

function damaged(how: string): UnreadablePayload {
  return new UnreadablePayload(
    `This report is truncated or damaged: ${how}. Save it again, or run its cell again.`,
  );
}

function foreign(): UnreadablePayload {
  return new UnreadablePayload(
    "This JSON is not a jaxscope report. Write one with report.save(path).",
  );
}

function refuseNewer(json: Json): void {
  if (typeof json.schema !== "number" || json.schema <= SCHEMA) return;
  const version = string(json.version) || string(object(json.environment)?.jaxscope);
  const writer = version ? `jaxscope ${version}` : "a newer jaxscope";
  throw new UnreadablePayload(
    `This report was written by ${writer} in schema ${json.schema}, and this viewer reads up to ` +
      `schema ${SCHEMA}: upgrade jaxscope where the notebook is opened (pip install -U jaxscope).`,
  );
}

function versionNotes(writer: string, viewer: string): string[] {
  if (!writer || writer === viewer) return [];
  return [
    `Written by jaxscope ${writer} and shown by the viewer of ${viewer}: ` +
      "what only one of the two supports is left out.",
  ];
}

function reportOf(json: Json): ReportDataJson {
  requireLists(object(json.record));
  const data = readReportData(json);
  if (!data) throw damaged("the record's environment is missing");
  const { record } = data;
  return {
    ...data,
    // Each program has its figures, each source its lines.
    programs: record.programs.map((_, i) => {
      const figures = data.programs[i];
      const lines = record.sources.map((_, j) => figures?.lines[j] ?? {});
      return { omitted: {}, ...figures, lines };
    }),
    first: data.first.length ? data.first : [record.title],
  };
}

/** A record without them is not shown as one that has no program. */
function requireLists(record: Json | undefined): void {
  if (!record) throw damaged("the record is missing");
  for (const name of ["sources", "programs"]) {
    const found = record[name];
    if (!Array.isArray(found) || !found.every(object)) {
      throw damaged(`the record's ${name} are missing`);
    }
  }
}

/** A record without its payload: the content of a file that `report.save(path)` wrote. */
function bareRecord(json: Json): Loaded {
  requireLists(json);
  const record = readRecord(json);
  if (!record) throw damaged("the record's environment is missing");
  const { environment, sources, programs, title } = record;
  const findings = record.findings.map(({ source, line, message, fix }) => {
    const place = line === null ? "program" : `line ${line}`;
    const linked = line !== null && source < sources.length;
    const link = linked ? `a data-source="${source}" data-line="${line}"` : "b";
    return (
      `<li><${link} class="place">${escaped(place)}</${link.charAt(0)}> ` +
      `<strong>${sentence(message)}</strong>` +
      `${fix ? `<div class="fix">→ ${sentence(fix)}</div>` : ""}</li>`
    );
  });
  const payload = {
    schema: record.schema,
    version: environment.jaxscope,
    id: "",
    summary: title,
    data: "",
  };
  const data = {
    record,
    programs: programs.map(() => ({ lines: sources.map(() => ({})), omitted: {} })),
    tabs: [],
    findings: findings.length ? `<ol class="findings">${findings.join("")}</ol>` : "",
    first: [title, ...programs.slice(0, 1).map(() => `jax ${environment.jax}`)],
  };
  const notes = [
    "This file has no tables or figures: Python makes them. jaxscope.load(path) shows them.",
  ];
  return { kind: "report", payload, data, notes };
}

/** A sentence with its names in backticks, as markup. */
function sentence(words: string): string {
  const parts = escaped(words).split("`");
  return parts.map((part, i) => (i % 2 ? `<code>${part}</code>` : part)).join("");
}

function escaped(text: string): string {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}
