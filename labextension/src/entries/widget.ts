/** The anywidget: renders the `payload` trait and synchronizes `selected_line`. */

import "../../style/index.css";
import type { AnyModel, RenderProps } from "@anywidget/types";
import type { ReportModel } from "../model";
import { renderReport } from "../render";
import { KernelHost, type Traits } from "./kernel";

function render({ model, el }: RenderProps<Traits>): () => void {
  const host = new KernelHost(model);
  const rendered = renderReport(el, model.get("payload"), host);
  let stop = (): void => undefined;
  let gone = false;
  void rendered.ready.then(() => {
    if (!gone && rendered.model) stop = keepLine(model, rendered.model);
  });
  return () => {
    gone = true;
    stop();
    rendered.dispose();
    host.dispose();
  };
}

/** Synchronizes the trait and the pinned line; returns a function that stops it. */
export function keepLine(widget: AnyModel<Traits>, report: ReportModel): () => void {
  const fromKernel = () => {
    const line = widget.get("selected_line");
    if (line === pinnedLine(report)) return;
    if (line === null) report.pin(null);
    else report.goTo(0, line);
  };
  const stop = report.on("selection", () => {
    const line = pinnedLine(report);
    if (line === widget.get("selected_line")) return;
    widget.set("selected_line", line);
    widget.save_changes();
  });
  widget.on("change:selected_line", fromKernel);
  fromKernel();
  return () => {
    stop();
    widget.off("change:selected_line", fromKernel);
  };
}

/** The pinned line of the first source, pinned itself or through a line of a stage. */
export function pinnedLine(report: ReportModel): number | null {
  const { pinned } = report;
  if (!pinned) return null;
  if (report.source === 0 && (pinned.origin === "source" || pinned.origin === "tab"))
    return pinned.line;
  const homes = report.equations.homes(0);
  for (const equation of pinned.hot) {
    const line = homes.get(equation);
    if (line !== undefined) return line;
  }
  return null;
}

export default { render };
