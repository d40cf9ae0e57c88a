/** The golden report, which pytest reads too. */

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Host } from "../src/host";
import { ReportModel } from "../src/model";
import {
  type ProgramFiguresJson,
  type RecordJson,
  type ReportDataJson,
  readRecord,
  SCHEMA,
} from "../src/schema/report";

const FOLDER = join(dirname(fileURLToPath(import.meta.url)), "../../tests/data/report");

function read(name: string): unknown {
  return JSON.parse(readFileSync(join(FOLDER, name), "utf-8"));
}

export const record = readRecord(read("report.json")) as RecordJson;
export const links = read("links.json") as {
  from_source: Record<string, Record<string, [number[], boolean]>>;
  between: Record<string, Record<string, number[]>>;
};

export function model(
  figures: Partial<ProgramFiguresJson> = {},
  changes: Partial<RecordJson> = {},
  host: Host = { name: "page" },
  id = "",
): ReportModel {
  const whole = { ...record, ...changes };
  const data: ReportDataJson = {
    record: whole,
    programs: whole.programs.map(() => ({ lines: [{}, {}], omitted: {}, ...figures })),
    tabs: [],
    findings: "",
    first: ["cell"],
  };
  return new ReportModel({ schema: SCHEMA, version: "", id, summary: "", data: "" }, data, host);
}
