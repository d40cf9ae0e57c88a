/** The legend of colors, marks and keys. */

import { element } from "../dom";

type Entry = readonly [css: string, mark: string, words: string];

const MARKS: readonly Entry[] = [
  ["jxs-key-line", "", "edge: one color per source line, the same in every pane"],
  ["jxs-key-soft", "", "the rest of the selected line, and its callers"],
  ["jxs-key-inexact", "≈", "dashed: approximate match, not linked by a tag"],
  ["jxs-key-dim", "∅", "dimmed: eliminated; hover for the reason"],
  ["jxs-key-flag", "!", "a finding"],
];
const PHASE_MARKS: readonly Entry[] = [
  ["jxs-key-backward", "←", "backward pass of the line"],
  ["jxs-key-rematerialized", "↻", "rematerialized forward work"],
];
const KEYS: readonly (readonly [keys: string, words: string])[] = [
  ["↑ ↓", "lines"],
  ["← →", "panes"],
  ["Enter", "pin"],
  ["Esc", "unpin"],
  ["/", "search"],
];

export function legend(phases: boolean): HTMLElement {
  const entries = phases ? [...MARKS, ...PHASE_MARKS] : MARKS;
  const list = element("ul", "jxs-legend");
  for (const [css, mark, words] of entries) {
    const swatch = element("span", `jxs-key ${css}`, mark);
    swatch.setAttribute("aria-hidden", "true");
    list.append(element("li", "", swatch, words));
  }
  for (const [keys, words] of KEYS) {
    const caps = keys.split(" ").map((key) => element("kbd", "", key));
    list.append(element("li", "", ...caps, ` ${words}`));
  }
  return list;
}
