/** Foldable parts: computations of HLO, passes of the pass log, functions and regions of MLIR, inner jaxprs, blocks of Python. */

import type { Language } from "./tokens";

export interface Fold {
  /** The line that stays visible, and the last line of the part, from 1. */
  readonly first: number;
  readonly last: number;
  /** Whether the last line is a closing bracket, shown after the first line. */
  readonly closes: boolean;
  /** The entry of the program or a part around it: "fold all" leaves it open. */
  readonly entry: boolean;
}

/** The foldable parts in the order of their first lines. */
export function folds(lines: readonly string[], language: Language): Fold[] {
  const indented = language === "python" || language === "jaxpr";
  let found = indented ? blocks(lines) : braces(lines);
  // The pass log has no braces: each pass, and each of its changes, is indented.
  if (language === "hlo" && !found.length) found = blocks(lines);
  const marked = language === "jaxpr" ? closing(found, lines) : found;
  return marked.sort((a, b) => a.first - b.first || b.last - a.last);
}

const ENTRY = /^ENTRY\b|^\s*(?:module\b|func\.func public\b)/;

/** Parts between a line that ends with `{` and the line that begins with its `}`. */
function braces(lines: readonly string[]): Fold[] {
  const found: Fold[] = [];
  const open: number[] = [];
  for (const [index, line] of lines.entries()) {
    const start = first(line);
    if (line[start] === "}" && open.length) {
      const head = open.pop() ?? 0;
      if (index > head) {
        const entry = ENTRY.test(lines[head]?.slice(0, 200) ?? "");
        found.push({ first: head + 1, last: index + 1, closes: true, entry });
      }
    }
    const end = last(line);
    if (line[end] === "{") open.push(index);
  }
  return found;
}

/** Parts that are indented more than the line above them. */
function blocks(lines: readonly string[]): Fold[] {
  const found: Fold[] = [];
  const open: { line: number; indent: number }[] = [];
  let filled = -1;
  const close = (indent: number) => {
    for (
      let top = open[open.length - 1];
      top && top.indent >= indent;
      top = open[open.length - 1]
    ) {
      open.pop();
      if (filled > top.line) {
        found.push({ first: top.line + 1, last: filled + 1, closes: false, entry: false });
      }
    }
  };
  for (const [index, line] of lines.entries()) {
    const indent = first(line);
    if (indent === line.length) continue;
    close(indent);
    open.push({ line: index, indent });
    filled = index;
  }
  close(0);
  return found;
}

/** `in (a,) }` closes a jaxpr, and the `]` after an equation's parameters closes them. */
function closing(found: readonly Fold[], lines: readonly string[]): Fold[] {
  return found.map((fold) => {
    const next = lines[fold.last]?.trimStart() ?? "";
    const entry = fold.first === 1;
    if (/^\s*in\b/.test(lines[fold.last - 1] ?? "")) return { ...fold, closes: true, entry };
    if (!/^[\]})]/.test(next)) return { ...fold, entry };
    return { ...fold, last: fold.last + 1, closes: true, entry };
  });
}

const SPACE = 32;
const TAB = 9;

function first(line: string): number {
  let at = 0;
  for (let code = line.charCodeAt(0); code === SPACE || code === TAB; )
    code = line.charCodeAt(++at);
  return at;
}

function last(line: string): number {
  let at = line.length - 1;
  while (at > 0 && line[at] === " ") at--;
  return at;
}
