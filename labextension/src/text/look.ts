/** The appearance of a text besides its tokens: one value in the editor's state, replaced as a whole. */

import { StateEffect, StateField } from "@codemirror/state";
import type { Hideable } from "./hide";
import { type Hits, NO_HITS } from "./search";
import type { Language } from "./tokens";

/** The style of a line while the program is shown. */
export interface LineDress {
  /** The hue of its source line, in degrees. */
  hue?: number;
  inexact?: boolean;
  phase?: "backward" | "rematerialized";
  /** Why it was eliminated. */
  dim?: string;
  /** The message of a finding. */
  flag?: string;
}

/** The styles of lines; one of a long text may make each when it comes into sight. */
export interface Dress {
  get(line: number): LineDress | undefined;
}

export type Spans = ReadonlyMap<number, readonly (readonly [number, number])[]>;
/** A figure beside a line: text, or text before a bar from 0 to 1. */
export type Cell = string | { text: string; bar: number };
export interface Column {
  title: string;
  /** The description of the figure. */
  hint?: string;
  css: string;
  /** In characters. */
  width: number;
}

export interface Figures {
  readonly columns: readonly Column[];
  readonly cells: (line: number) => readonly Cell[] | null;
}

export interface Look {
  readonly language: Language;
  readonly dress: Dress;
  /** The lines with a finding. */
  readonly flags: readonly number[];
  readonly soft: ReadonlySet<number>;
  readonly hot: ReadonlySet<number>;
  /** In characters, like columns in Python. */
  readonly spans: Spans;
  readonly active: number;
  readonly hits: Hits;
  readonly hide: ReadonlySet<Hideable>;
  readonly figures: Figures | null;
}

export const PLAIN: Look = {
  language: "python",
  dress: new Map(),
  flags: [],
  soft: new Set(),
  hot: new Set(),
  spans: new Map(),
  active: 0,
  hits: NO_HITS,
  hide: new Set(),
  figures: null,
};

export const changeLook = StateEffect.define<Partial<Look>>();

export const look = StateField.define<Look>({
  create: () => PLAIN,
  update(value, transaction) {
    let next = value;
    for (const effect of transaction.effects) {
      if (effect.is(changeLook)) next = { ...next, ...effect.value };
    }
    return next;
  },
});

/** The CSS classes of a line, for its text and its gutter. */
export function lineClass(number: number, { dress, soft, hot, active }: Look): string {
  const style = dress.get(number);
  let css = "jxs-line";
  if (style?.hue !== undefined) css += " jxs-linked";
  if (hot.has(number)) css += " jxs-hot";
  else if (soft.has(number)) css += " jxs-soft";
  if (style?.inexact) css += " jxs-inexact";
  if (style?.phase) css += ` jxs-${style.phase}`;
  if (style?.dim) css += " jxs-dim";
  if (number === active) css += " jxs-active";
  return css;
}
