import { gzipSync } from "node:zlib";
import { beforeEach, expect, test, vi } from "vitest";
import { KernelHost } from "../src/entries/kernel";
import { keepLine, pinnedLine } from "../src/entries/widget";
import { TextAbsent } from "../src/host";
import { ReportModel } from "../src/model";
import type { ReportDataJson } from "../src/schema/report";

type Callback = (...parts: never[]) => void;

/** A widget's model as anywidget gives it. */
class FakeModel {
  readonly sent: { request: string }[] = [];
  readonly traits = { selected_line: null as number | null };
  saved = 0;
  private readonly callbacks = new Map<string, Set<Callback>>();
  readonly widget_manager = { get_model: () => Promise.reject(new Error("none")) };

  get(name: "selected_line") {
    return this.traits[name];
  }
  set(name: "selected_line", value: number | null) {
    this.traits[name] = value;
    this.tell("change:selected_line");
  }
  save_changes() {
    this.saved++;
  }
  send(content: { request: string }) {
    this.sent.push(content);
  }
  on(name: string, callback: Callback) {
    this.callbacks.set(name, (this.callbacks.get(name) ?? new Set()).add(callback));
  }
  off(name: string, callback: Callback) {
    this.callbacks.get(name)?.delete(callback);
  }
  tell(name: string, ...parts: unknown[]) {
    for (const callback of this.callbacks.get(name) ?? [])
      (callback as (...p: unknown[]) => void)(...parts);
  }
  get heard() {
    return [...this.callbacks.values()].reduce((sum, each) => sum + each.size, 0);
  }
  as() {
    return this as unknown as ConstructorParameters<typeof KernelHost>[0];
  }
}

const ABSENT = { unavailable: null, anchors: [] };
const STAGE = { stage: { kind: "hlo", text: "HloModule f\n", ...ABSENT } };

/** A zipped answer inside a larger buffer, as it comes from a message. */
function zipped(value: unknown): DataView {
  const bytes = gzipSync(JSON.stringify(value));
  const whole = new Uint8Array(bytes.length + 9);
  whole.set(bytes, 4);
  return new DataView(whole.buffer, 4, bytes.length);
}

let model: FakeModel;
beforeEach(() => {
  model = new FakeModel();
});

test("a text is asked for and unpacked, whichever answer comes first", async () => {
  const host = new KernelHost(model.as());
  const first = host.fetchStage("7", 0, "hlo");
  const second = host.fetchStage("7", 1, "jaxpr");
  expect(model.sent).toMatchObject([
    { op: "stage", program: 0, kind: "hlo" },
    { op: "stage", program: 1, kind: "jaxpr" },
  ]);
  const other = { stage: { kind: "jaxpr", text: "{ lambda ; }", ...ABSENT } };
  model.tell("msg:custom", { request: model.sent[1]?.request, ok: true }, [zipped(other)]);
  model.tell("msg:custom", { request: model.sent[0]?.request, ok: true }, [zipped(STAGE)]);
  expect(await first).toEqual(STAGE);
  expect(await second).toEqual(other);
});

test("a pass is asked for by its number, and its answer is a diff", async () => {
  const asked = new KernelHost(model.as()).fetchPass("7", 0, 9);
  expect(model.sent).toMatchObject([{ op: "pass", program: 0, number: 9 }]);
  const groups = [{ caption: "rewritten", changes: [[1, 2]] }];
  const diff = { kind: "hlo", title: "9 · cse", lead: [], before: "a", after: "b", groups };
  model.tell("msg:custom", { request: model.sent[0]?.request, ok: true }, [zipped(diff)]);
  expect(await asked).toMatchObject({ title: "9 · cse", before: "a", after: "b" });
});

test("two views of one widget do not take each other's answers", async () => {
  const one = new KernelHost(model.as()).fetchStage("7", 0, "hlo");
  const settled = vi.fn();
  void new KernelHost(model.as()).fetchStage("7", 0, "hlo").then(settled, settled);
  model.tell("msg:custom", { request: model.sent[0]?.request, ok: true }, [zipped(STAGE)]);
  expect(await one).toEqual(STAGE);
  expect(settled).not.toHaveBeenCalled();
});

test("a refusal is an absent text with the kernel's sentence", async () => {
  const asked = new KernelHost(model.as()).fetchStage("7", 9, "hlo");
  const message = "This report has 1 programs, and no number 9.";
  model.tell(
    "msg:custom",
    { request: model.sent[0]?.request, ok: false, why: "error", message },
    [],
  );
  await expect(asked).rejects.toMatchObject({ absence: "error", message });
});

test.each([[null], ["hello"], [{}], [{ request: 7, ok: true }], [{ request: "other", ok: true }]])(
  "a message %j that is no answer is left alone",
  async (message) => {
    const asked = new KernelHost(model.as()).fetchStage("7", 0, "hlo");
    model.tell("msg:custom", message, []);
    model.tell("msg:custom", { request: model.sent[0]?.request, ok: true }, [zipped(STAGE)]);
    expect(await asked).toEqual(STAGE);
  },
);

test("a kernel that restarts leaves no request waiting", async () => {
  const host = new KernelHost(model.as());
  const asked = host.fetchStage("7", 0, "hlo");
  model.tell("comm_live_update");
  await expect(asked).rejects.toBeInstanceOf(TextAbsent);
  await expect(asked).rejects.toMatchObject({ absence: "restarted" });
});

test("a closed view hears nothing more", async () => {
  const host = new KernelHost(model.as());
  const asked = host.fetchStage("7", 0, "hlo");
  host.dispose();
  await expect(asked).rejects.toMatchObject({ absence: "no-kernel" });
  expect(model.heard).toBe(0);
});

/** Two lines, and what came of the second one. */
function report(): ReportModel {
  const frame = (line: number) => ({
    source: 0,
    span: [line, 0, line, 9] as const,
  });
  const equations = [1, 2].map((line) => ({
    id: line * 10,
    primitive: "add",
    frames: [frame(line)],
    phase: "primal" as const,
    parent: null,
  }));
  const stages = [
    {
      kind: "hlo" as const,
      text: "a\nb\n",
      unavailable: null,
      anchors: [{ line: 2, equations: [20], exact: true, why: "", among: [] }],
    },
  ];
  const source = { name: "c", text: "x\ny\n" };
  const data: ReportDataJson = {
    record: {
      title: "cell",
      environment: { jaxscope: "", jax: "" },
      sources: [source, { ...source, name: "d" }],
      programs: [{ name: "f", transforms: [], equations, stages, inexact_why: "" }],
      findings: [],
      notes: [],
      schema: 1,
    },
    programs: [{ lines: [], omitted: {} }],
    tabs: [],
    findings: "",
    first: [],
  };
  const payload = { schema: 1, version: "", id: "7", summary: "", data: "" };
  return new ReportModel(payload, data, { name: "widget" });
}

const widget = () => model as unknown as Parameters<typeof keepLine>[0];

test("a pinned line is told to the kernel, and a freed one", () => {
  const shown = report();
  keepLine(widget(), shown);
  shown.pin(shown.ofSource(2));
  expect([model.traits.selected_line, model.saved]).toEqual([2, 1]);
  shown.pin(null);
  expect([model.traits.selected_line, model.saved]).toEqual([null, 2]);
});

test("pointing at a line tells the kernel nothing", () => {
  const shown = report();
  keepLine(widget(), shown);
  shown.hover(shown.ofSource(2));
  expect(model.saved).toBe(0);
});

test("an instruction that is pinned counts as the line that it came from", () => {
  const shown = report();
  shown.pin(shown.ofStage("hlo", 2));
  expect(pinnedLine(shown)).toBe(2);
  shown.pin(shown.ofStage("hlo", 1));
  expect(pinnedLine(shown)).toBeNull();
});

test("a line that the kernel sets is pinned, and not sent back", () => {
  const shown = report();
  model.traits.selected_line = 1;
  const stop = keepLine(widget(), shown);
  expect(shown.pinned?.line).toBe(1);
  model.set("selected_line", 2);
  expect(shown.pinned?.line).toBe(2);
  model.set("selected_line", null);
  expect(shown.pinned).toBeNull();
  expect(model.saved).toBe(0);
  stop();
  expect(model.heard).toBe(0);
});
