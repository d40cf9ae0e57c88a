/** The source line of a line of the optimized HLO, in words and as a color. */

import { huesOf } from "../ir/hues";
import type { ReportModel } from "../model";
import type { Dress } from "./drawing";

export interface Origin {
  /** Empty where the line is unknown. */
  words: string;
  dress: Dress;
}

export function origins(model: ReportModel): (line: number) => Origin {
  const anchors = model.anchors("optimized_hlo");
  const hues = huesOf(model.equations, model.source);
  const homes = model.equations.homes(model.source);
  const name = model.source ? `${model.data.record.sources[model.source]?.name} ` : "";
  return (line) => {
    const anchor = anchors.byLine.get(line);
    const [id] = anchor?.equations ?? [];
    const home = id === undefined ? undefined : homes.get(id);
    if (home === undefined) return { words: "", dress: {} };
    const inexact = anchor?.exact === false;
    const words = `${inexact ? "probably " : ""}${name}line ${home}`;
    return { words, dress: { hue: hues.get(home) ?? 250, inexact } };
  };
}
