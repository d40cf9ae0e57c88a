/** Multi-line strings of Python: a line alone does not show that it is inside of one. */

const DELIMITER = /"""|'''/g;
/** Comments and single-line strings, in which a delimiter opens nothing. */
const ELSEWHERE = /#.*$|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\\./;
const OPENING = new RegExp(`("""|''')|${ELSEWHERE.source}`, "g");

/** line → the column at which the string ends in which the line begins; its length where it goes on. */
export function quoted(lines: Iterable<string>): ReadonlyMap<number, number> {
  const found = new Map<number, number>();
  let open = "";
  let number = 0;
  for (const line of lines) {
    number++;
    let at = 0;
    if (open) {
      at = closing(line, open, 0);
      found.set(number, at < 0 ? line.length : at);
      if (at < 0) continue;
      open = "";
    }
    if (line.includes('"""', at) || line.includes("'''", at)) open = opened(line, at);
  }
  return found;
}

/** The column after the delimiter that closes a string, or -1. */
function closing(line: string, delimiter: string, start: number): number {
  DELIMITER.lastIndex = start;
  for (let match = DELIMITER.exec(line); match; match = DELIMITER.exec(line)) {
    if (match[0] === delimiter && line[match.index - 1] !== "\\") return DELIMITER.lastIndex;
  }
  return -1;
}

/** The delimiter of a string that is open at the end of a line. */
function opened(line: string, start: number): string {
  OPENING.lastIndex = start;
  for (let match = OPENING.exec(line); match; match = OPENING.exec(line)) {
    const delimiter = match[1];
    if (!delimiter) continue;
    const end = closing(line, delimiter, OPENING.lastIndex);
    if (end < 0) return delimiter;
    OPENING.lastIndex = end;
  }
  return "";
}
