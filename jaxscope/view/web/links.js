// The record as the panes need it: which equations stand behind a line, and which lines behind an
// equation. The same rule as `jaxscope.analysis.links`; a test compares the two.

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

/** The equations of a program, found by id and by source line. */
class Equations {
  constructor(program) {
    this.byId = new Map(program.equations.map((equation) => [equation.id, equation]));
    this.lineCache = new Map();
    this.homeCache = new Map();
  }

  /** Frames in one source, innermost first. */
  places(id, source) {
    return this.byId.get(id)?.frames.filter((frame) => frame.source === source) ?? [];
  }

  /** equation id → the innermost of its lines in a source. */
  homes(source) {
    let map = this.homeCache.get(source);
    if (!map) {
      map = new Map();
      for (const id of this.byId.keys()) {
        const place = this.places(id, source)[0];
        if (place) map.set(id, place.span[0]);
      }
      this.homeCache.set(source, map);
    }
    return map;
  }

  /** line → the line whose work it is part of: itself, or the first line of its expression. */
  owners(source) {
    const map = new Map();
    for (const line of this.homes(source).values()) map.set(line, line);
    for (const id of this.byId.keys()) {
      const [place] = this.places(id, source);
      if (!place) continue;
      for (let line = place.span[0]; line <= place.span[2]; line++) {
        if (!map.has(line)) map.set(line, place.span[0]);
      }
    }
    return map;
  }

  /** Lines of the innermost frame of an equation in a source. */
  own(id, source) {
    const [place] = this.places(id, source);
    const lines = [];
    for (let line = place?.span[0]; line <= place?.span[2]; line++) lines.push(line);
    return lines;
  }

  /** All lines that the frames of an equation reach over. */
  lines(id, source) {
    const lines = new Set();
    for (const { span } of this.places(id, source)) {
      for (let line = span[0]; line <= span[2]; line++) lines.add(line);
    }
    return lines;
  }

  /** source line → equation ids. */
  byLine(source) {
    let map = this.lineCache.get(source);
    if (!map) {
      map = new Map();
      for (const id of this.byId.keys()) {
        for (const line of this.lines(id, source)) push(map, line, id);
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
        if (line < first || (line === first && column < start)) continue;
        if (line > last || (line === last && column >= end)) continue;
        const length = 1e6 * (last - first) + end - start;
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
      const exact = anchor.exact !== false;
      const why = anchor.why || (exact ? "" : program.inexact_why || "");
      this.byLine.set(anchor.line, { equations: anchor.equations, exact, why });
      for (const id of anchor.equations) push(this.byEquation, id, anchor.line);
    }
  }

  /** Lines that come from any of these equations, ascending. */
  lines(equations) {
    const found = new Set();
    for (const id of equations) for (const line of this.byEquation.get(id) || []) found.add(line);
    // As in Python: lines that only may have come from them stand in where no line surely did.
    const sure = [...found].filter((line) => this.byLine.get(line).exact);
    return Array.from(Int32Array.from(sure.length ? sure : found).sort());
  }
}
