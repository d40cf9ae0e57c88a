/** Requests of a widget to its kernel: one message, answered by one message. */

import type { AnyModel } from "@anywidget/types";
import { copied, gunzipJson } from "../gzip";
import { type Host, INCOMPLETE, readPrice, TextAbsent } from "../host";
import {
  type PayloadJson,
  readReply,
  readStageAnswer,
  readStageDiff,
  type StageAnswerJson,
  type StageDiffJson,
  type StageKind,
} from "../schema/report";

export interface Traits {
  payload: PayloadJson;
  /** The line of the first source that is pinned. */
  selected_line: number | null;
}

interface Waiting {
  done(bytes: Uint8Array<ArrayBuffer>): void;
  failed(error: TextAbsent): void;
}

export class KernelHost implements Host {
  readonly name = "widget";
  private readonly waiting = new Map<string, Waiting>();
  /** Identifies this view: all views of a widget receive all answers. */
  private readonly view = Math.random().toString(36).slice(2);
  private asked = 0;
  private readonly onMessage = (message: unknown, buffers: DataView[]) =>
    this.receive(message, buffers);
  private readonly lost = () => this.fail("restarted");

  constructor(private readonly model: AnyModel<Traits>) {
    model.on("msg:custom", this.onMessage);
    // Sent by ipywidgets when the kernel is lost or back: open requests will not be answered.
    model.on("comm_live_update", this.lost);
  }

  async fetchStage(_report: string, program: number, kind: StageKind): Promise<StageAnswerJson> {
    const answer = readStageAnswer(await this.ask({ op: "stage", program, kind }));
    if (!answer) throw new TextAbsent("error", INCOMPLETE);
    return answer;
  }

  async fetchPrice(_report: string, program: number, kind: StageKind): Promise<number> {
    return readPrice(await this.ask({ op: "price", program, kind }));
  }

  async fetchPass(_report: string, program: number, number: number): Promise<StageDiffJson> {
    const diff = readStageDiff(await this.ask({ op: "pass", program, number }));
    if (!diff) throw new TextAbsent("error", INCOMPLETE);
    return diff;
  }

  private async ask(question: Readonly<Record<string, string | number>>): Promise<unknown> {
    const request = `${this.view}/${++this.asked}`;
    const bytes = await new Promise<Uint8Array<ArrayBuffer>>((done, failed) => {
      this.waiting.set(request, { done, failed });
      this.model.send({ request, ...question });
    });
    return gunzipJson(bytes);
  }

  dispose(): void {
    this.model.off("msg:custom", this.onMessage);
    this.model.off("comm_live_update", this.lost);
    this.fail("no-kernel");
  }

  private receive(message: unknown, buffers: DataView[]): void {
    const reply = readReply(message);
    const waiting = this.waiting.get(reply?.request ?? "");
    if (!reply?.request || !waiting) return;
    this.waiting.delete(reply.request);
    const [buffer] = buffers;
    if (reply.ok && buffer) waiting.done(copied(buffer));
    else waiting.failed(new TextAbsent("error", reply.message));
  }

  private fail(absence: "restarted" | "no-kernel"): void {
    for (const waiting of this.waiting.values()) waiting.failed(new TextAbsent(absence));
    this.waiting.clear();
  }
}
