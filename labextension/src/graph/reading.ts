/** The optimized HLO as a module, read anew where its text is another one; or why there is none. */

import { type Said, said } from "../ir/states";
import type { ReportModel } from "../model";
import { Module } from "./hlo";

const KIND = "optimized_hlo";
const NO_HLO: Said = {
  words: "This text has no instructions of HLO in it, so there is nothing to draw.",
  again: false,
  busy: false,
};
const NOTHING: Said = { words: "", again: false, busy: false };

export class Reading {
  module: Module | null = null;
  private text = "";

  /** `fresh`: what was drawn before is of another text. */
  read(model: ReportModel): { fresh: boolean; said: Said | null } {
    const state = model.text(KIND);
    if (state.state === "asking") void model.request(KIND);
    const text = "stage" in state ? state.stage.text : null;
    const fresh = text === null || !this.module || this.text !== text;
    if (fresh) this.module = text === null ? null : new Module(text);
    this.text = text ?? "";
    if (text !== null) return { fresh, said: this.module?.instructions.length ? null : NO_HLO };
    const omitted = model.figures?.omitted[KIND];
    return { fresh, said: said(state, KIND, omitted, model.payload.id !== "") ?? NOTHING };
  }

  forget(): void {
    this.module = null;
  }
}
