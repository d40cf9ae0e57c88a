/** The reason why a text is absent, in whole sentences. */

import type { TextState } from "../model";
import {
  type ProgramFiguresJson,
  STAGE_KIND_LABELS,
  STAGE_KIND_ON_REQUEST,
  type StageKind,
} from "../schema/report";
import { count, seconds, size as sizeOf } from "../words";

export interface Notice {
  text: string;
  /** Whether trying again may help. */
  retry: boolean;
  /** Whether the answer is pending. */
  busy: boolean;
  /** The label of a button that agrees to the price. */
  agree?: string;
}

type Size = ProgramFiguresJson["omitted"][StageKind];

/** Null where the text is available. `named`: the report has an id, so it came from a kernel. */
export function noticeOf(
  state: TextState,
  kind: StageKind,
  size: Size,
  named: boolean,
): Notice | null {
  const label = STAGE_KIND_LABELS[kind];
  const many = label.endsWith("s"); // `thunks`, `fusion remarks`
  switch (state.state) {
    case "saved":
    case "live":
      return null;
    case "requested":
      return {
        text: `Requesting this text${measured(size)} from the kernel. A busy kernel answers later.`,
        retry: false,
        busy: true,
      };
    case "priced":
      return {
        text: `The ${label} ${many ? "need" : "needs"} one more compilation${state.seconds ? `: about ${seconds(state.seconds)}` : ""}.`,
        retry: false,
        busy: false,
        agree: "Compile",
      };
    case "unavailable":
      return {
        text: `There ${many ? "are" : "is"} no ${label}: ${sentence(state.reason)}`,
        retry: false,
        busy: false,
      };
    case "absent":
      return { text: absent(state, kind, size, named), retry: named, busy: false };
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
  const asked = STAGE_KIND_ON_REQUEST.includes(kind);
  const here = asked
    ? "This text is fetched on request"
    : `This text${measured(size)} was too large to be saved in the notebook`;
  const message = state.message ? ` (${state.message})` : "";
  switch (state.absence) {
    case "no-kernel":
      return `${here}, and no kernel is connected. Run the cell again.`;
    case "gone":
      return `${here}, and the kernel keeps only the latest reports. Run the cell again.`;
    case "forgotten":
      return `${here}, and the kernel was restarted or jaxscope reloaded. Run the cell again.`;
    case "restarted":
      return `${here}, and the kernel was restarted. Run the cell again.`;
    case "error":
      return `${here}, and the request to the kernel failed${message}.`;
  }
}

/** ` (18 240 lines, 2.1 MB)`; empty where the size is unknown. */
function measured(size: Size): string {
  const parts = [
    ...(size?.lines ? [count(size.lines, "line")] : []),
    ...(size?.bytes ? [sizeOf(size.bytes)] : []),
  ];
  return parts.length ? ` (${parts.join(", ")})` : "";
}

/** With a full stop at its end. */
export function sentence(words: string): string {
  return /[.!?]$/.test(words) ? words : `${words}.`;
}
