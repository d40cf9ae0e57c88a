/** What JupyterLab and Notebook 7 can do for a report that stands in an output. */

import type { IRenderMime } from "@jupyterlab/rendermime-interfaces";
import type { JSONObject } from "@lumino/coreutils";
import type { Panel, Widget } from "@lumino/widgets";
import { type Host, INCOMPLETE, TextAbsent } from "../host";
import { number, object } from "../json";
import { readStageAnswer, type StageAnswerJson, type StageKind } from "../schema/report";
import { type Site, shared } from "./shared";
import { Stages } from "./stages";
import { askReport } from "./texts";

const PLOTLY = "application/vnd.plotly.v1+json";
const FIGURE_HEIGHT = 360;
const stages = new Stages();

export class LabHost implements Host {
  readonly name = "lab";

  /** `panel` holds the figures, so that they hear of the room they have. */
  constructor(
    private readonly panel: Panel,
    private readonly resolver: IRenderMime.IResolver | null,
  ) {}

  private get site(): Site | null {
    return shared.site?.(this.resolver) ?? null;
  }

  private async ask(request: JSONObject): Promise<unknown> {
    const kernel = this.site?.kernel();
    if (!kernel) throw new TextAbsent("no-kernel");
    if (this.site?.restarting()) throw new TextAbsent("restarted");
    return askReport(kernel, request);
  }

  fetchStage(report: string, program: number, kind: StageKind): Promise<StageAnswerJson> {
    const key = `${report}/${program}/${kind}`;
    return stages.get(key, async () => {
      const answer = readStageAnswer(await this.ask({ op: "stage", report, program, kind }));
      if (!answer) throw new TextAbsent("error", INCOMPLETE);
      return answer;
    });
  }

  onReturn(callback: () => void): () => void {
    const heard = () => {
      if (this.site?.kernel()) callback();
    };
    shared.returned.connect(heard);
    return () => shared.returned.disconnect(heard);
  }

  async drawFigure(parent: HTMLElement, report: string, kind: string): Promise<() => void> {
    const registry = shared.rendermime;
    const factory = registry?.getFactory(PLOTLY);
    if (!registry || !factory?.safe)
      throw new Error(
        "This figure is drawn by plotly, which is not installed beside JupyterLab: `pip install plotly`.",
      );
    const figure = (await this.ask({ op: "figure", report, kind })) as JSONObject;
    if (this.panel.isDisposed) return () => undefined;
    const renderer = registry.createRenderer(PLOTLY);
    renderer.node.style.height = `${heightOf(figure)}px`;
    this.panel.addWidget(renderer);
    // The panel sends the messages; the figure stands where the view wants it.
    parent.appendChild(renderer.node);
    await renderer.renderModel(registry.createModel({ data: { [PLOTLY]: figure } }));
    return () => this.takeBack(renderer);
  }

  private takeBack(renderer: Widget): void {
    if (renderer.isDisposed) return;
    // Lumino takes a child out of its panel's own node.
    if (!this.panel.isDisposed) this.panel.node.appendChild(renderer.node);
    renderer.dispose();
  }

  openCell(cellId: string, line: number | null): void {
    this.site?.openCell(cellId, line);
  }
}

function heightOf(figure: JSONObject): number {
  return number(object(figure.layout)?.height) ?? FIGURE_HEIGHT;
}
