// The record as the panes need it: which equations stand behind a line, and which lines behind an
// equation. The same rule as `jaxscope.view.lines`; a test compares the two.

/** Lines of a text as Python and XLA count them. */
function splitLines(text) {
  const lines = text.split(/\r\n|\r|\n/);
  if (lines[lines.length - 1] === "") lines.pop();
  return lines;
}

/** Adds a value to the list that a map holds for a key. */
function push(map, key, value) {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}

/** The equations of a program with the user's frames of each; those of a library's inner jaxpr
 *  carry none and take their parent's. */
class Equations {
  constructor(program) {
    this.byId = new Map(program.equations.map((equation) => [equation.id, equation]));
    this.lineCache = new Map();
  }

  frames(id) {
    let equation = this.byId.get(id);
    for (let depth = 0; equation && depth < 100; depth++) {
      if (equation.frames.length > 0 || equation.parent === null) return equation.frames;
      equation = this.byId.get(equation.parent);
    }
    return [];
  }

  /** Frames in one source, innermost first. */
  places(id, source) {
    return this.frames(id).filter((frame) => frame.source === source);
  }

  /** source line → equation ids. */
  byLine(source) {
    let map = this.lineCache.get(source);
    if (!map) {
      map = new Map();
      for (const id of this.byId.keys()) {
        for (const line of new Set(this.places(id, source).map((frame) => frame.span[0]))) {
          push(map, line, id);
        }
      }
      this.lineCache.set(source, map);
    }
    return map;
  }

  /** Of the equations of a line, those of the smallest expression around a column. */
  at(source, line, column) {
    let best = [];
    let size = Infinity;
    for (const id of this.byLine(source).get(line) || []) {
      for (const { span: [first, start, last, end] } of this.places(id, source)) {
        if (first !== line || column < start || (last === first && column >= end)) continue;
        const length = last === first ? end - start : 1e6 * (last - first);
        if (length < size) {
          size = length;
          best = [];
        }
        if (length === size) best.push(id);
      }
    }
    return new Set(best);
  }
}

/** The anchors of a stage, readable from both sides. */
class Anchors {
  constructor(stage, program) {
    this.byLine = new Map();
    this.byEquation = new Map();
    for (const anchor of (stage && stage.anchors) || []) {
      const exact = anchor.exact !== false && program.exact !== false;
      const why = anchor.why || (exact ? "" : program.inexact_why || "");
      this.byLine.set(anchor.line, { equations: anchor.equations, exact, why });
      for (const id of anchor.equations) push(this.byEquation, id, anchor.line);
    }
  }

  /** Lines that come from any of these equations, ascending. */
  lines(equations) {
    const found = new Set();
    for (const id of equations) for (const line of this.byEquation.get(id) || []) found.add(line);
    return [...found].sort((a, b) => a - b);
  }
}
