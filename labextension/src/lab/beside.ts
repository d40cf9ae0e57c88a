/** A report in a panel of its own, beside the notebook. */

import type { JupyterFrontEnd } from "@jupyterlab/application";
import { MainAreaWidget } from "@jupyterlab/apputils";
import type { IRenderMimeRegistry } from "@jupyterlab/rendermime";
import type { IRenderMime } from "@jupyterlab/rendermime-interfaces";
import type { ReadonlyPartialJSONObject } from "@lumino/coreutils";
import { MIME } from "../schema/report";
import { ReportRenderer } from "./renderer";

/** Opens the report of an output; the panel keeps it when its cell runs again. */
export function openBeside(
  app: JupyterFrontEnd,
  registry: IRenderMimeRegistry,
  model: IRenderMime.IMimeModel,
  resolver: IRenderMime.IResolver | null,
): void {
  const value = model.data[MIME] ?? null;
  const data = { [MIME]: value } as ReadonlyPartialJSONObject;
  const content = new ReportRenderer({
    mimeType: MIME,
    resolver,
    sanitizer: registry.sanitizer,
    linkHandler: null,
    latexTypesetter: null,
  });
  void content.renderModel(registry.createModel({ data, trusted: model.trusted }));
  const widget = new MainAreaWidget({ content });
  const summary = (value as { summary?: unknown } | null)?.summary;
  widget.title.label = (typeof summary === "string" && summary.split(" · ")[0]) || "jaxscope";
  widget.title.closable = true;
  app.shell.add(widget, "main", { mode: "split-right" });
}
