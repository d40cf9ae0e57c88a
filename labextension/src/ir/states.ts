/** Why a text is not here, in whole sentences. */

import type { TextState } from "../model";
import { type ProgramFiguresJson, STAGE_KIND_LABELS, type StageKind } from "../schema/report";
import { count, size as sizeOf } from "../words";

export interface Said {
  words: string;
  /** Whether asking again can help. */
  again: boolean;
  /** It is being waited for. */
  busy: boolean;
}

type Size = ProgramFiguresJson["omitted"][StageKind];

/** Null where the text is here. `named`: the report has an id, so that a kernel once had it. */
export function said(state: TextState, kind: StageKind, size: Size, named: boolean): Said | null {
  switch (state.state) {
    case "saved":
    case "live":
      return null;
    case "asking":
      return {
        words: `Asking the kernel for this text${measured(size)}; where it is busy, this takes until it answers.`,
        again: false,
        busy: true,
      };
    case "unavailable":
      return {
        words: `There is no ${STAGE_KIND_LABELS[kind]}: ${sentence(state.reason)}`,
        again: false,
        busy: false,
      };
    case "absent":
      return { words: absent(state, kind, size, named), again: named, busy: false };
  }
}

function absent(
  state: Extract<TextState, { state: "absent" }>,
  kind: StageKind,
  size: Size,
  named: boolean,
): string {
  if (!named)
    return `This text is not in this file. In Python, report.stage("${kind}").text gives it.`;
  const here = `This text${measured(size)} is not in this notebook: it was over the size that is saved`;
  const message = state.message ? ` (${state.message})` : "";
  switch (state.absence) {
    case "no-kernel":
      return `${here}, and no kernel is connected that could be asked. Run the cell again to see it.`;
    case "gone":
      return `${here}, and the kernel no longer has this report: it keeps the last few. Run the cell again.`;
    case "forgotten":
      return `${here}, and the kernel has forgotten it: it was restarted, or jaxscope was loaded anew. Run the cell again.`;
    case "restarted":
      return `${here}, and the kernel that had it was restarted. Run the cell again.`;
    case "error":
      return `${here}, and asking the kernel for it failed${message}.`;
  }
}

/** ` (18 240 lines, 2.1 MB)`; empty where it is not known. */
function measured(size: Size): string {
  const parts = [
    ...(size?.lines ? [count(size.lines, "line")] : []),
    ...(size?.bytes ? [sizeOf(size.bytes)] : []),
  ];
  return parts.length ? ` (${parts.join(", ")})` : "";
}

function sentence(words: string): string {
  return /[.!?]$/.test(words) ? words : `${words}.`;
}
