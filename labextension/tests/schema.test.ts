/** The generated checks: the golden files pass as they are, and what does not fit goes no further. */

// @vitest-environment node
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { list, map } from "../src/json";
import { loadPayload } from "../src/payload";
import { readCompileNews } from "../src/schema/compiles";
import { readAnchor, readDiffData, readRecord, readReply, readStage } from "../src/schema/report";

function golden(path: string) {
  return JSON.parse(readFileSync(new URL(`../../tests/data/${path}`, import.meta.url), "utf-8"));
}

test("the golden payload passes, and nothing of it is lost", async () => {
  const record = golden("report/report.json");
  const payload = golden("report/payload.json");
  const data = gzipSync(JSON.stringify({ ...payload.data, record })).toString("base64");
  const read = await loadPayload({ ...payload, data });
  if (read.kind !== "report") throw new Error(read.kind);
  expect(read.payload).toEqual({ ...payload, data });
  const { record: _, ...rest } = read.data;
  expect(rest).toEqual(payload.data);
});

test("the golden record passes, its defaults put back", () => {
  const json = golden("report/report.json");
  const record = readRecord(json);
  const [program] = record?.programs ?? [];
  const [written] = json.programs;
  expect(program?.equations.map(({ id }) => id)).toEqual(
    written.equations.map(({ id }: { id: number }) => id),
  );
  expect(program?.stages.map(({ anchors }) => anchors.length)).toEqual(
    written.stages.map(({ anchors }: { anchors: unknown[] }) => anchors.length),
  );
  const exact = program?.stages.flatMap(({ anchors }) => anchors.map((each) => each.exact)) ?? [];
  expect(exact.filter((each) => !each)).toHaveLength(3);
  expect(record?.findings.every(({ source }) => typeof source === "number")).toBe(true);
});

test("a value of a wrong type becomes the default", () => {
  expect(readAnchor({ line: 3, equations: [1, "2", null], exact: "no", why: 7 })).toEqual({
    line: 3,
    equations: [1],
    exact: true,
    why: "",
    among: [],
  });
});

test("an object without what it needs is dropped", () => {
  expect(readAnchor({ line: "3", equations: [1] })).toBeUndefined();
  expect(readStage({ kind: "wasm", text: "x" })).toBeUndefined();
  expect(readRecord([])).toBeUndefined();
  expect(readReply({ request: "1" })).toBeUndefined();
});

test("a field that says nothing where it is left out stays out", () => {
  expect(readReply({ ok: true, why: "bored", message: 3 })).toEqual({ ok: true });
});

test("a pair of lines has two, each a number or null", () => {
  const changes = [[1, null], "x", [1], [1, 2, 3], ["1", 2], [null, 4]];
  const read = readDiffData({ stages: [{ kind: "hlo", groups: [{ changes }] }] });
  expect(read?.stages[0]?.groups[0]?.changes).toEqual([
    [1, null],
    [null, 4],
  ]);
});

test("news of compiles that do not fit are left out", () => {
  const no = { recompile: false, avoidable: false };
  const event = { serial: 1, fun_name: "f", kind: "jit", ...no, compile_s: null };
  const news = readCompileNews({ events: [event, { serial: 2 }, null], storms: [{ storm: "1" }] });
  expect(news?.events.map(({ serial, persistent }) => [serial, persistent])).toEqual([[1, "off"]]);
  expect(news?.storms).toEqual([]);
  expect(readCompileNews("news")).toBeUndefined();
});

test("lists and maps keep what fits", () => {
  const even = (value: unknown) =>
    typeof value === "number" && value % 2 === 0 ? value : undefined;
  expect(list([1, 2, 4], even)).toEqual([2, 4]);
  expect(list({ 0: 2 }, even)).toBeUndefined();
  expect(map({ a: 1, b: 2 }, even)).toEqual({ b: 2 });
  expect(map([2], even)).toBeUndefined();
});
