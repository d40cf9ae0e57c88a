/** The live feed of compilations of one notebook's kernel. */

import { NotebookActions, type NotebookPanel } from "@jupyterlab/notebook";
import type { Kernel, KernelMessage } from "@jupyterlab/services";
import type { IDisposable } from "@lumino/disposable";
import { Signal } from "@lumino/signaling";
import { type CellRunJson, type CompileEventJson, readCompileNews } from "../schema/compiles";
import { readNextSteps } from "../schema/report";
import { isAgain, Numbers, Storms } from "./compiles";
import { Fixes } from "./fixes";
import { broken, requestReport, subshell } from "./texts";

export const TARGET = "jaxscope.events";
/** Events kept, as many as the kernel keeps. */
const KEPT = 10_000;
const RUNS = 1000;

/** `foreign`: not a Python kernel. */
export type FeedState = "no-kernel" | "foreign" | "connecting" | "not-loaded" | "listening";

export class Feed implements IDisposable {
  isDisposed = false;
  state: FeedState = "no-kernel";
  events: readonly CompileEventJson[] = [];
  /** Events since the user cleared the list. */
  listed: readonly CompileEventJson[] = [];
  /** What the panel filters its list by: maybe a cell of this kernel. */
  query = "";
  storms = new Storms();
  /** The runs of cells since the kernel started. */
  runs: readonly CellRunJson[] = [];
  fixes = this.noFixes();
  readonly changed = new Signal<this, void>(this);
  private kernel: Kernel.IKernelConnection | null = null;
  private comm: Kernel.IComm | null = null;
  private numbers = new Numbers();

  constructor(readonly panel: NotebookPanel) {
    const { sessionContext } = panel;
    sessionContext.kernelChanged.connect(this.begin, this);
    sessionContext.statusChanged.connect(this.onStatus, this);
    NotebookActions.executed.connect(this.onExecuted, this);
    panel.disposed.connect(this.dispose, this);
    void panel.context.ready.then(() => this.begin());
  }

  dispose(): void {
    if (this.isDisposed) return;
    this.isDisposed = true;
    this.leave();
    NotebookActions.executed.disconnect(this.onExecuted, this);
    this.panel.disposed.disconnect(this.dispose, this);
    if (!this.panel.isDisposed) {
      this.panel.sessionContext.kernelChanged.disconnect(this.begin, this);
      this.panel.sessionContext.statusChanged.disconnect(this.onStatus, this);
    }
    Signal.clearData(this);
  }

  clear(): void {
    this.listed = [];
    this.changed.emit();
  }

  /** A new or restarted kernel: earlier compilations are dropped. */
  private begin(): void {
    if (this.isDisposed) return;
    this.leave();
    this.forget();
    this.kernel = this.panel.sessionContext.session?.kernel ?? null;
    this.become(this.kernel ? "connecting" : "no-kernel");
    if (this.kernel && this.mentionsJax()) void this.connect(this.kernel);
    else if (this.kernel) this.become("not-loaded");
  }

  private onStatus(): void {
    const { kernel } = this;
    if (!kernel || kernel.isDisposed) {
      if (this.panel.sessionContext.session?.kernel) this.begin();
      else if (this.state !== "no-kernel") this.begin();
      return;
    }
    if (broken(kernel) && (this.comm || this.events.length)) {
      this.leave();
      this.kernel = kernel;
      this.forget();
      this.become("not-loaded");
    }
  }

  /** Retries only after a cell that may have loaded jaxscope: a kernel logs each comm with an unknown
   *  target. */
  private onExecuted(_: unknown, { notebook, cell }: { notebook: unknown; cell: CellLike }): void {
    if (notebook !== this.panel.content || !this.kernel) return;
    const source = cell.model.sharedModel.getSource();
    if (this.state === "not-loaded" && mentions(source)) void this.connect(this.kernel);
    if (this.state === "listening" && source.includes("%jaxtry")) {
      this.fixes.again();
      this.updateFixes();
    }
  }

  private mentionsJax(): boolean {
    const cells = this.panel.content.model?.sharedModel.cells ?? [];
    return cells.some((cell) => mentions(cell.getSource()));
  }

  private async connect(kernel: Kernel.IKernelConnection): Promise<void> {
    const info = await kernel.info;
    if (this.left(kernel) || this.comm) return;
    if (info.language_info.name !== "python") return this.become("foreign");
    if (!kernel.handleComms) return this.become("not-loaded");
    const comm = kernel.createComm(TARGET);
    this.comm = comm;
    comm.onMsg = (message) => this.receive(message);
    comm.onClose = () => {
      if (this.comm !== comm) return;
      this.comm = null;
      this.numbers.again();
      this.become("not-loaded");
    };
    await subshell(kernel, comm);
    if (this.left(kernel) || this.comm !== comm) return;
    Promise.resolve(comm.open({}).done).catch(() => undefined);
  }

  private receive(message: KernelMessage.ICommMsgMsg): void {
    const { events = [], storms = [], runs = [] } = readCompileNews(message.content.data) ?? {};
    const fresh = events.map((event) => this.numbers.event(event));
    for (const news of storms) this.storms.update(this.numbers.storm(news));
    this.events = [...this.events, ...fresh].slice(-KEPT);
    this.listed = [...this.listed, ...fresh].slice(-KEPT);
    // A feed that begins again sends all of them.
    const known = new Set(this.runs.map(({ cell }) => cell));
    this.runs = [...this.runs, ...runs.filter(({ cell }) => !known.has(cell))].slice(-RUNS);
    this.become("listening");
    this.updateFixes();
  }

  /** Asks about the cells that have ended and recompiled something. */
  private updateFixes(): void {
    const ended = new Set(this.runs.map(({ cell }) => cell));
    const found = new Map<number, number>();
    for (const event of this.events)
      if (event.cell !== null && ended.has(event.cell) && isAgain(event, this.storms))
        found.set(event.cell, (found.get(event.cell) ?? 0) + 1);
    this.fixes.update(found);
  }

  private noFixes(): Fixes {
    const ask = async (cell: number) => {
      const { kernel, numbers } = this;
      const found = kernel && (await requestReport(kernel, { op: "fixes", cell }));
      return (readNextSteps(found)?.steps ?? []).map((step) => numbers.step(step));
    };
    const fixes: Fixes = new Fixes(ask, () => {
      if (this.fixes === fixes) this.changed.emit();
    });
    return fixes;
  }

  private forget(): void {
    this.events = this.listed = [];
    this.query = "";
    this.runs = [];
    this.storms = new Storms();
    this.numbers = new Numbers();
    this.fixes = this.noFixes();
  }

  private left(kernel: Kernel.IKernelConnection): boolean {
    return this.isDisposed || this.kernel !== kernel || kernel.isDisposed;
  }

  private leave(): void {
    const { comm } = this;
    this.comm = null;
    this.kernel = null;
    if (comm && !comm.isDisposed) {
      comm.onMsg = comm.onClose = () => undefined;
      comm.close();
    }
  }

  private become(state: FeedState): void {
    this.state = state;
    this.changed.emit();
  }
}

interface CellLike {
  model: { sharedModel: { getSource(): string } };
}

function mentions(source: string): boolean {
  return source.includes("jax");
}
