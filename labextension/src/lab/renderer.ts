/** The renderer of a report in an output or as a document. */

import type { IRenderMime } from "@jupyterlab/rendermime-interfaces";
import type { ReadonlyPartialJSONObject } from "@lumino/coreutils";
import type { Message } from "@lumino/messaging";
import { Panel, type Widget } from "@lumino/widgets";
import { type Rendered, renderReport } from "../render";
import { MIME } from "../schema/report";
import { LabHost } from "./host";
import { shared } from "./shared";

/** Replacements for the viewer where the user switched it off, the best first. */
const OTHERS = ["text/html", "text/plain"];

/** A Lumino Panel, so that the figures in it receive messages about visibility and size. */
export class ReportRenderer extends Panel implements IRenderMime.IRenderer {
  private drawn: Rendered | null = null;
  private model: IRenderMime.IMimeModel | null = null;
  private readonly host: LabHost;

  constructor(options: IRenderMime.IRendererOptions) {
    super();
    this.addClass("jxs-lab-report");
    const { resolver } = options;
    const open = () => this.model && shared.openBeside?.(this.model, resolver);
    this.host = new LabHost(this, resolver, shared.openBeside && open);
    shared.viewerChanged.connect(this.redraw, this);
  }

  /** JupyterLab calls this again when an output is updated in place. */
  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    this.model = model;
    await this.redraw();
  }

  override dispose(): void {
    if (this.isDisposed) return;
    shared.viewerChanged.disconnect(this.redraw, this);
    this.clear();
    super.dispose();
  }

  private async redraw(): Promise<void> {
    const model = this.model;
    if (!model || this.isDisposed) return;
    this.clear();
    if (!shared.viewer && (await this.drawOther(model))) return;
    // A document comes as text, an output as JSON.
    const value = model.data[MIME] ?? null;
    this.drawn = renderReport(this.node, value, this.host);
    this.fill();
  }

  /** A document or a panel has the report alone, an output is one of many. */
  private fill(): void {
    if (!this.isAttached || this.node.closest(".jp-OutputArea")) return;
    this.addClass("jxs-lab-fills");
    this.drawn?.fill();
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    this.fill();
  }

  /** Draws the output without the viewer; false where it has no other form. */
  private async drawOther(model: IRenderMime.IMimeModel): Promise<boolean> {
    const registry = shared.rendermime;
    const mime = OTHERS.find((each) => model.data[each] !== undefined);
    if (!registry || !mime) return false;
    const data = { [mime]: model.data[mime] } as ReadonlyPartialJSONObject;
    const renderer = registry.createRenderer(mime);
    this.addWidget(renderer);
    await renderer.renderModel(registry.createModel({ data, trusted: model.trusted }));
    return true;
  }

  private clear(): void {
    this.drawn?.dispose();
    this.drawn = null;
    for (const child of [...this.widgets] as Widget[]) child.dispose();
    this.node.replaceChildren();
  }

  protected override onResize(message: Widget.ResizeMessage): void {
    super.onResize(message);
    this.drawn?.layout();
  }

  protected override onAfterShow(message: Message): void {
    super.onAfterShow(message);
    this.drawn?.layout();
  }
}
