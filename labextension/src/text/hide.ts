/** Parts of a line that can be hidden: metadata and layouts. The text itself does not change. */

import type { Language } from "./tokens";

export type Hideable = "metadata" | "layouts";
export type Part = readonly [from: number, to: number, what: Hideable];

const NOTES =
  /,?\s*\b(?:metadata|frontend_attributes|backend_config)=(?=[{"])|\s*\bloc(?=\()|,?\s*\bmhlo\.\w+ = (?=[{"])/g;
const SHAPE_LAYOUT = /(?<=\])\{[\d,]*(?::[^{}]*)?\}/g;
const LAYOUT_KEYS =
  /,?\s*\b(?:entry_computation_layout|operand_layout_constraints|layout)\s?=\s?(?=[{[])/g;
const CLOSE: Readonly<Record<string, string>> = { "{": "}", "(": ")", "[": "]" };

/** The columns of these parts, in order and without overlaps. */
export function hideable(line: string, language: Language, what: ReadonlySet<Hideable>): Part[] {
  if (!what.size || language === "python") return [];
  const found: Part[] = [];
  if (what.has("metadata") && language !== "jaxpr") {
    // A line of MLIR that only defines a location.
    if (/^#loc\w* = /.test(line)) return [[0, line.length, "metadata"]];
    collect(found, line, NOTES, "metadata");
  }
  if (what.has("layouts")) {
    collect(found, line, LAYOUT_KEYS, "layouts");
    if (language === "hlo") {
      for (const match of line.matchAll(SHAPE_LAYOUT)) {
        found.push([match.index, match.index + match[0].length, "layouts"]);
      }
    }
  }
  return apart(found);
}

function collect(found: Part[], line: string, pattern: RegExp, what: Hideable): void {
  for (const match of line.matchAll(pattern)) {
    const end = closed(line, match.index + match[0].length);
    if (end > 0) found.push([match.index, end, what]);
  }
}

/** The end of the bracket or string that begins here; -1 where it is not closed. */
export function closed(line: string, start: number): number {
  const stack: string[] = [];
  for (let at = start; at < line.length; at++) {
    const character = line[at] ?? "";
    if (character === '"') {
      at = stringEnd(line, at) - 1;
      if (at < 0) return -1;
    } else if (character in CLOSE) stack.push(CLOSE[character] ?? "");
    else if (character === stack[stack.length - 1]) stack.pop();
    if (!stack.length) return at + 1;
  }
  return -1;
}

function stringEnd(line: string, start: number): number {
  for (let at = start + 1; at < line.length; at++) {
    if (line[at] === "\\") at++;
    else if (line[at] === '"') return at + 1;
  }
  return -1;
}

/** Sorted, without parts inside of other parts. */
function apart(parts: Part[]): Part[] {
  parts.sort((a, b) => a[0] - b[0] || b[1] - a[1]);
  const kept: Part[] = [];
  let end = 0;
  for (const part of parts) {
    if (part[0] < end) continue;
    kept.push(part);
    end = part[1];
  }
  return kept;
}
