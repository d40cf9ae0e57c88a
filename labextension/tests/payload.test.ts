// @vitest-environment node
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { gunzip } from "../src/gzip";
import { loadPayload, UnreadablePayload } from "../src/payload";
import { VERSION } from "../src/schema/report";

const golden = JSON.parse(
  readFileSync(new URL("../../tests/data/report/report.json", import.meta.url), "utf-8"),
);

function packed(data: unknown): string {
  return gzipSync(JSON.stringify(data)).toString("base64");
}

function payload(changes: object = {}, data: object = {}): object {
  const whole = { record: golden, programs: [], tabs: [], findings: "", first: ["cell"], ...data };
  return { schema: 1, version: VERSION, id: "7", summary: "cell", data: packed(whole), ...changes };
}

async function refusal(value: unknown): Promise<string> {
  const error = await loadPayload(value).then(
    () => null,
    (error: unknown) => error,
  );
  expect(error).toBeInstanceOf(UnreadablePayload);
  return (error as Error).message;
}

test("why there is no program is read, and is a text", async () => {
  const said = async (nothing: unknown) => {
    const read = await loadPayload(payload({}, { nothing }));
    return read.kind === "report" ? read.data.nothing : read.kind;
  };
  expect(await said("The cell ran as plain Python.")).toBe("The cell ran as plain Python.");
  expect(await said(["<b>"])).toBeUndefined();
});

test("a payload is unpacked, and each program has its figures", async () => {
  const read = await loadPayload(payload());
  if (read.kind !== "report") throw new Error(read.kind);
  expect(read.payload.id).toBe("7");
  expect(read.data.record.programs[0]?.equations).toHaveLength(golden.programs[0].equations.length);
  expect(read.data.programs).toHaveLength(golden.programs.length);
  expect(read.data.programs[0]?.lines).toHaveLength(golden.sources.length);
  expect(read.notes).toEqual([]);
});

test("a comparison of implementations is markup, and incomplete without it", async () => {
  const kind = "comparison";
  const read = await loadPayload(payload({ kind, data: packed({ markup: "<p>1</p>" }) }));
  expect(read.kind === "comparison" && read.markup).toBe("<p>1</p>");
  expect(await refusal(payload({ kind, data: packed({}) }))).toMatch(/the comparison is missing/);
});

test("the version of the viewer is that of the Python package", () => {
  const python = readFileSync(new URL("../../jaxscope/version.py", import.meta.url), "utf-8");
  expect(python).toContain(`__version__ = "${VERSION}"`);
});

test("a different version of the Python package is noted and no reason to stop", async () => {
  const read = await loadPayload(payload({ version: "9.9" }));
  expect(read.notes).toEqual([
    `Written by jaxscope 9.9 and shown by the viewer of ${VERSION}: ` +
      "what only one of the two supports is left out.",
  ]);
});

test("a later schema is refused with who wrote it and what to do", async () => {
  expect(await refusal(payload({ schema: 2, version: "9.9" }))).toBe(
    "This report was written by jaxscope 9.9 in schema 2, and this viewer reads up to schema 1: " +
      "upgrade jaxscope where the notebook is opened (pip install -U jaxscope).",
  );
});

test("a saved record is shown with what it has", async () => {
  const read = await loadPayload(golden);
  if (read.kind !== "report") throw new Error(read.kind);
  expect(read.data.record.title).toBe(golden.title);
  expect(read.data.tabs).toEqual([]);
  expect(read.data.findings).toContain('data-line="');
  expect(read.notes[0]).toContain("jaxscope.load(path)");
  expect((await loadPayload(JSON.stringify(golden))).kind).toBe("report");
});

test("a saved record of a later schema is refused, too", async () => {
  expect(await refusal({ ...golden, schema: 99 })).toContain("in schema 99");
});

test("findings of a bare record are escaped, and their names are code", async () => {
  const findings = [{ kind: "k", line: null, message: "<img src=x> & co", fix: "Run `-d <x>`." }];
  const read = await loadPayload({ ...golden, findings });
  expect(read.kind === "report" && read.data.findings).toContain("Run <code>-d &lt;x&gt;</code>.");
  expect(read.kind === "report" && read.data.findings).toContain("&lt;img src=x&gt; &amp; co");
});

test("what Python left out as a default is put back", async () => {
  const bare = { name: "f", transforms: ["jit"] };
  const record = { ...golden, programs: [bare], findings: undefined, notes: undefined };
  const read = await loadPayload(record);
  if (read.kind !== "report") throw new Error(read.kind);
  const [program] = read.data.record.programs;
  expect([program?.equations, program?.stages]).toEqual([[], []]);
  expect(read.data.record.findings).toEqual([]);
});

const whole = payload() as { data: string };
const BAD: [string, unknown, string][] = [
  ["cut JSON", JSON.stringify(golden).slice(0, 5000), "it is not complete JSON"],
  ["cut gzip", { ...whole, data: whole.data.slice(0, 400) }, "it cannot be unpacked"],
  ["no base64", { ...whole, data: "%%%" }, "it cannot be unpacked"],
  ["no gzip", { ...whole, data: btoa("hello") }, "it cannot be unpacked"],
  ["packed text", { ...whole, data: packed("words") }, "its content is not a JSON object"],
  ["no record", { ...whole, data: packed({ tabs: [] }) }, "the record is missing"],
  ["no programs", { ...whole, data: packed({ record: { sources: [] } }) }, "programs are missing"],
  [
    "no environment",
    { ...whole, data: packed({ record: { sources: [], programs: [] } }) },
    "the record's environment is missing",
  ],
  [
    "foreign JSON",
    { cells: [], nbformat: 4 },
    "This JSON is not a jaxscope report. Write one with report.save(path).",
  ],
  ["an array", [1, 2], "This JSON is not a jaxscope report. Write one with report.save(path)."],
  ["nothing", null, "This JSON is not a jaxscope report. Write one with report.save(path)."],
];

test.each(BAD)("%s is refused in a sentence", async (_, value, words) => {
  expect(await refusal(value)).toContain(words);
});

test("hostile shapes inside a record do not reach the views", async () => {
  const programs = [{ equations: "x", stages: [{ kind: "jaxpr", anchors: 3 }, 7], transforms: 1 }];
  const read = await loadPayload({ ...golden, programs, findings: [null, { message: 3 }] });
  if (read.kind !== "report") throw new Error(read.kind);
  expect(read.data.record.programs[0]?.equations).toEqual([]);
  expect(read.data.record.programs[0]?.stages?.[0]?.anchors).toEqual([]);
  expect(read.data.record.findings).toEqual([{ line: null, message: "", fix: "", source: 0 }]);
});

test("a comparison is read as one", async () => {
  const diff = {
    first: ["f"],
    stages: [{ kind: "jaxpr", title: "jaxpr", groups: [{ changes: [[1, null], "x", [1]] }] }],
  };
  const read = await loadPayload(payload({ kind: "diff", data: packed(diff) }));
  if (read.kind !== "diff") throw new Error(read.kind);
  expect(read.diff.stages[0]?.groups[0]?.changes).toEqual([[1, null]]);
  expect(read.diff.stages[0]?.before).toBeNull();
});

test("a report that unpacks to more than the bound is refused before it is held", async () => {
  const bomb = new Uint8Array(gzipSync(new Uint8Array(3_000_000)));
  await expect(gunzip(bomb, 2_000_000)).rejects.toThrow("more than 2 MB");
  expect(await gunzip(bomb, 3_000_000)).toHaveLength(3_000_000);
  await expect(gunzip(bomb.subarray(0, -9))).rejects.toThrow();
});
