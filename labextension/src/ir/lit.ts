/** The highlighted lines of a selection, and the highlighted parts of them. */

import type { ReportModel, Selection } from "../model";
import type { StageKind } from "../schema/report";
import { toCharacters } from "../text/columns";
import type { Spans } from "../text/look";

export interface Lit {
  soft: ReadonlySet<number>;
  hot: ReadonlySet<number>;
  spans: Spans;
}

export const DARK: Lit = { soft: new Set(), hot: new Set(), spans: new Map() };

/** Lines of the source: hot are the equations' defining lines, soft are their callers. */
export function litSource(model: ReportModel, now: Selection, lines: readonly string[]): Lit {
  const here = now.origin === "source" || now.origin === "tab";
  const soft = linesIn(model, now.soft, false);
  const hot = here ? new Set([now.line]) : linesIn(model, now.hot, true);
  const spot = now.hot.size < now.soft.size;
  return { soft, hot, spans: spot || !here ? spansOf(model, now.hot, lines) : new Map() };
}

export function litStage(model: ReportModel, now: Selection, kind: StageKind): Lit {
  const found = model.linesOf(kind, now);
  const own = now.origin === kind || (now.origin === "graph" && kind === "optimized_hlo");
  const hot = new Set(found.hot);
  if (own) hot.add(now.line);
  return { soft: new Set(found.soft), hot, spans: new Map() };
}

function linesIn(model: ReportModel, ids: ReadonlySet<number>, own: boolean): Set<number> {
  const found = new Set<number>();
  for (const id of ids) {
    const lines = own
      ? model.equations.own(id, model.source)
      : model.equations.lines(id, model.source);
    for (const line of lines) found.add(line);
  }
  return found;
}

/** line → the spans of these equations, in characters. */
function spansOf(model: ReportModel, ids: ReadonlySet<number>, lines: readonly string[]): Spans {
  const found = new Map<number, [number, number][]>();
  const seen = new Set<string>();
  for (const id of ids) {
    for (const { span } of model.equations.places(id, model.source)) {
      const key = span.join();
      if (seen.has(key)) continue;
      seen.add(key);
      const [first, start, last, end] = span;
      for (let line = first; line <= last; line++) {
        const text = lines[line - 1] ?? "";
        const from = line === first ? start : text.search(/\S|$/);
        const to = line === last ? end : toCharacters(text, text.length);
        if (to <= from) continue;
        const list = found.get(line);
        if (list) list.push([from, to]);
        else found.set(line, [[from, to]]);
      }
    }
  }
  return found;
}
