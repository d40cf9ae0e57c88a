/** The optimized HLO as a module, parsed again when its text changes; or the reason why it is absent. */

import { type Notice, noticeOf } from "../ir/states";
import type { ReportModel } from "../model";
import { Module } from "./hlo";

const KIND = "optimized_hlo";
export const NO_INSTRUCTION =
  "The selection has no instruction in the optimized HLO, so the graph does not move.";
export const HELP =
  "Arrow keys follow the edges, Enter selects and shows neighbors, Space opens a fusion or enters a " +
  "loop, Delete hides, + and − zoom, 0 fits the graph.";
const NO_HLO: Notice = {
  text: "This text has no HLO instructions, so there is no graph.",
  retry: false,
  busy: false,
};
const NOTHING: Notice = { text: "", retry: false, busy: false };

export class Reading {
  module: Module | null = null;
  private text = "";

  /** `fresh`: the text has changed since the last drawing. */
  read(model: ReportModel): { fresh: boolean; notice: Notice | null } {
    const state = model.text(KIND);
    if (state.state === "requested") void model.request(KIND);
    const text = "stage" in state ? state.stage.text : null;
    const fresh = text === null || !this.module || this.text !== text;
    if (fresh) this.module = text === null ? null : new Module(text);
    this.text = text ?? "";
    if (text !== null) return { fresh, notice: this.module?.instructions.length ? null : NO_HLO };
    const omitted = model.figures?.omitted[KIND];
    return { fresh, notice: noticeOf(state, KIND, omitted, model.payload.id !== "") ?? NOTHING };
  }

  forget(): void {
    this.module = null;
  }
}
