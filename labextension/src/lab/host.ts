/** The services of JupyterLab and Notebook 7 for a report in an output. */

import type { IRenderMime } from "@jupyterlab/rendermime-interfaces";
import type { JSONObject } from "@lumino/coreutils";
import type { Panel, Widget } from "@lumino/widgets";
import { type Host, INCOMPLETE, readPrice, TextAbsent } from "../host";
import { number, object } from "../json";
import {
  type NextStepJson,
  readNextSteps,
  readStageAnswer,
  readStageDiff,
  type StageAnswerJson,
  type StageDiffJson,
  type StageKind,
} from "../schema/report";
import { Gate } from "./gate";
import { type Site, shared } from "./shared";
import { Stages } from "./stages";
import { requestReport } from "./texts";

const PLOTLY = "application/vnd.plotly.v1+json";
const FIGURE_HEIGHT = 360;
const stages = new Stages();
const gate = new Gate();

export class LabHost implements Host {
  readonly name = "lab";

  /** `panel` holds the figures, so that they receive resize messages. */
  constructor(
    private readonly panel: Panel,
    private readonly resolver: IRenderMime.IResolver | null,
    readonly openBeside?: () => void,
  ) {}

  private get site(): Site | null {
    return shared.site?.(this.resolver) ?? null;
  }

  private async request(request: JSONObject): Promise<unknown> {
    const kernel = this.site?.kernel();
    if (!kernel) throw new TextAbsent("no-kernel");
    if (this.site?.restarting()) throw new TextAbsent("restarted");
    return requestReport(kernel, request);
  }

  fetchStage(report: string, program: number, kind: StageKind): Promise<StageAnswerJson> {
    const key = `${report}/${program}/${kind}`;
    return stages.get(key, async () => {
      const answer = readStageAnswer(await this.request({ op: "stage", report, program, kind }));
      if (!answer) throw new TextAbsent("error", INCOMPLETE);
      return answer;
    });
  }

  async fetchPrice(report: string, program: number, kind: StageKind): Promise<number> {
    return readPrice(await this.request({ op: "price", report, program, kind }));
  }

  async fetchPass(report: string, program: number, number: number): Promise<StageDiffJson> {
    const diff = readStageDiff(await this.request({ op: "pass", report, program, number }));
    if (!diff) throw new TextAbsent("error", INCOMPLETE);
    return diff;
  }

  onReturn(callback: () => void): () => void {
    const returned = () => {
      if (this.site?.kernel()) callback();
    };
    shared.returned.connect(returned);
    return () => shared.returned.disconnect(returned);
  }

  onLoss(callback: () => void): () => void {
    const lost = () => {
      if (!this.site?.kernel() || this.site.restarting()) callback();
    };
    shared.lost.connect(lost);
    return () => shared.lost.disconnect(lost);
  }

  async nextSteps(report: string): Promise<readonly NextStepJson[]> {
    const { site } = this;
    const kernel = site?.kernel();
    if (!kernel || !site?.notebook) return [];
    const ask = () => this.request({ op: "next", report });
    return readNextSteps(await gate.pass(kernel.id, ask))?.steps ?? [];
  }

  take(report: string, { code, replaces }: NextStepJson): void {
    this.site?.runCode(this.site.cellWith(report), code, replaces);
  }

  async drawFigure(parent: HTMLElement, report: string, kind: string): Promise<() => void> {
    const registry = shared.rendermime;
    const factory = registry?.getFactory(PLOTLY);
    if (!registry || !factory?.safe)
      throw new Error(
        "This figure needs plotly beside JupyterLab: `pip install plotly`, then reload the page.",
      );
    const figure = (await this.request({ op: "figure", report, kind })) as JSONObject;
    if (this.panel.isDisposed) return () => undefined;
    const renderer = registry.createRenderer(PLOTLY);
    renderer.node.style.height = `${heightOf(figure)}px`;
    this.panel.addWidget(renderer);
    // A child of the panel for its messages, placed in the element of the view.
    parent.appendChild(renderer.node);
    await renderer.renderModel(registry.createModel({ data: { [PLOTLY]: figure } }));
    return () => this.remove(renderer);
  }

  private remove(renderer: Widget): void {
    if (renderer.isDisposed) return;
    // Lumino removes a child from the panel's own node.
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
