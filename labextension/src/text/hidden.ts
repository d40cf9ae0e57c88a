/** Escapes for characters that are invisible or reorder text, as in `jaxscope.view.base.visible`. */

const HIDDEN =
  /(?![\t\n])\p{Cc}|[\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]|\p{Surrogate}/gu;
/** Characters of a line that are shown; the rest is counted. */
export const LONGEST = 4000;
/** Runs of hidden characters that are escaped in one line. */
const MOST_RUNS = 200;

/** A placeholder for a part of a line. */
export interface Replacement {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  const hex = code.toString(16);
  if (code <= 0xff) return `\\x${hex.padStart(2, "0")}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
}

/** A text with its hidden characters as `\x1b`, `\u202e`. */
export function visible(text: string): string {
  return isPlain(text) ? text : text.replace(HIDDEN, escaped);
}

export function isPlain(text: string): boolean {
  return /^[\t\x20-\x7e]*$/.test(text);
}

/** The hidden characters of a line, neighbors together. */
export function spelledOut(line: string): Replacement[] {
  if (isPlain(line)) return [];
  const found: { from: number; to: number; text: string }[] = [];
  for (const match of line.matchAll(HIDDEN)) {
    const to = match.index + match[0].length;
    const last = found[found.length - 1];
    if (last?.to === match.index) {
      last.to = to;
      last.text += escaped(match[0]);
    } else if (found.length < MOST_RUNS) {
      found.push({ from: match.index, to, text: escaped(match[0]) });
    } else if (last) {
      last.text += ` … ${more(line.length - last.to)}`;
      last.to = line.length;
      break;
    }
  }
  return found;
}

/** The hidden end of a very long line. */
export function cutOff(line: string): Replacement | null {
  if (line.length <= LONGEST) return null;
  return { from: LONGEST, to: line.length, text: ` … ${more(line.length - LONGEST)}` };
}

/** "1 more character", "12 345 more characters". */
function more(count: number): string {
  const digits =
    count < 10_000 ? String(count) : String(count).replace(/\B(?=(\d{3})+$)/g, "\u202f");
  return `${digits} more character${count === 1 ? "" : "s"}`;
}
