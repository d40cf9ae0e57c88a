/** Figures and equations that come with a requested text. */

import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import type { Host } from "../src/host";
import { ReportModel } from "../src/model";
import type { EquationJson, ReportDataJson, StageAnswerJson } from "../src/schema/report";

const equation: EquationJson = {
  id: 0,
  primitive: "tanh",
  frames: [{ source: 0, span: [1, 0, 1, 4] }],
  phase: "primal",
  parent: null,
};

function model(answer: Partial<StageAnswerJson>, equations: EquationJson[] = []): ReportModel {
  const data: ReportDataJson = {
    record: {
      title: "f",
      environment: { jaxscope: "", jax: "" },
      sources: [{ name: "f", text: "tanh(x)" }],
      programs: [{ name: "f", transforms: [], equations, stages: [], inexact_why: "" }],
      findings: [],
      notes: [],
      schema: 1,
    },
    programs: [{ lines: [{}], omitted: {} }],
    tabs: [],
    findings: "",
    first: [],
  };
  const stage = {
    kind: "jaxpr" as const,
    text: "let",
    unavailable: null,
    anchors: [{ line: 1, equations: [0], exact: true, why: "", among: [] }],
  };
  const host: Host = { name: "lab", fetchStage: async () => ({ stage, ...answer }) };
  const payload = { schema: 1, version: "", id: "an id", summary: "", data: "" };
  return new ReportModel(payload, data, host);
}

test("equations that the saved output left out come with a text, and link", async () => {
  const report = model({ equations: [equation] });
  const told: string[] = [];
  report.on("source", () => told.push("source"));
  expect(report.ofSource(1).soft.size).toBe(0);
  await report.request("jaxpr");
  expect(told).toEqual(["source"]);
  expect([...report.ofSource(1).soft]).toEqual([0]);
});

test("a text of the page itself needs no kernel, and a damaged one says so", async () => {
  const kept = model({});
  const stage = { kind: "hlo", text: "HloModule x", anchors: [] };
  const packed = gzipSync(JSON.stringify({ stage })).toString("base64");
  const payload = { ...kept.payload, id: "", apart: { "0/hlo": packed, "0/stablehlo": "AAAA" } };
  const report = new ReportModel(payload, kept.data, { name: "page" });
  expect(report.text("hlo").state).toBe("requested");
  await report.request("hlo");
  expect(report.text("hlo")).toMatchObject({ state: "live", stage: { text: "HloModule x" } });
  await report.request("stablehlo");
  expect(report.text("stablehlo")).toMatchObject({ state: "absent", absence: "error" });
  expect(report.text("jaxpr").state).toBe("absent");
});

test("equations that are here are kept", async () => {
  const report = model({ equations: [{ ...equation, primitive: "other" }] }, [equation]);
  await report.request("jaxpr");
  expect(report.programJson?.equations[0]?.primitive).toBe("tanh");
});

test("reasons that are known better with a text replace the earlier ones", async () => {
  const report = model({ eliminated: [{ equation: 0, reason: "dead" }], merged: [] }, [equation]);
  await report.request("jaxpr");
  expect(report.figures?.eliminated).toEqual([{ equation: 0, reason: "dead" }]);
});
