/** The notebook or console of an output. Each has its own resolver of links, passed to every renderer in
 *  it, also in cloned views: the identity of the resolver identifies the notebook. */

import type { ISessionContext } from "@jupyterlab/apputils";
import type { IConsoleTracker } from "@jupyterlab/console";
import { type INotebookTracker, NotebookActions, type NotebookPanel } from "@jupyterlab/notebook";
import type { IRenderMime } from "@jupyterlab/rendermime-interfaces";
import type { Kernel } from "@jupyterlab/services";
import { cellOf, cellWith, openCell } from "./cells";
import { runCode } from "./insert";
import { type Site, shared } from "./shared";
import { broken } from "./texts";

interface Place {
  resolver: IRenderMime.IResolver | null;
  session: ISessionContext;
  notebook: NotebookPanel | null;
}

/** Finds the notebook of a renderer, and notifies renderers when a kernel is available again. */
export class Sites {
  constructor(
    private readonly notebooks: INotebookTracker | null,
    private readonly consoles: IConsoleTracker | null,
    private readonly activate: (id: string) => void,
  ) {
    notebooks?.widgetAdded.connect((_, panel) => this.listen(panel.sessionContext));
    consoles?.widgetAdded.connect((_, panel) => this.listen(panel.sessionContext));
    for (const { session } of this.places()) this.listen(session);
    // A fix that was tried has a result, which is shown beside its finding.
    NotebookActions.executed.connect((_, { cell }) => {
      if (cell.model.sharedModel.getSource().includes("%jaxtry")) shared.returned.emit();
    });
    shared.returned.emit();
  }

  private places(): Place[] {
    const found: Place[] = [];
    this.notebooks?.forEach((panel) => {
      const { resolver } = panel.content.rendermime;
      found.push({ resolver, session: panel.sessionContext, notebook: panel });
    });
    this.consoles?.forEach((panel) => {
      const { resolver } = panel.console.rendermime;
      found.push({ resolver, session: panel.sessionContext, notebook: null });
    });
    return found;
  }

  find(resolver: IRenderMime.IResolver | null): Site | null {
    const place = resolver && this.places().find((each) => each.resolver === resolver);
    return place ? this.site(place) : null;
  }

  private site({ session, notebook }: Place): Site {
    return {
      kernel: () => this.connected(session.session?.kernel ?? null),
      restarting: () => {
        const kernel = session.session?.kernel;
        return kernel ? broken(kernel) && kernel.status !== "starting" : false;
      },
      notebook: notebook !== null,
      cellWith: (report) => (notebook && cellWith(notebook, report)) ?? null,
      runCode: (id, code, replaces) => notebook && runCode(notebook, id, code, replaces),
      openCell: (id, line) => {
        const cell = notebook ? cellOf(notebook, id) : undefined;
        if (!notebook || !cell) return false;
        this.activate(notebook.id);
        void openCell(notebook, cell, line);
        return true;
      },
    };
  }

  /** A console on a notebook's kernel has a second connection without comms: the notebook's has them. */
  private connected(kernel: Kernel.IKernelConnection | null): Kernel.IKernelConnection | null {
    if (!kernel || kernel.handleComms) return kernel;
    const all = this.places().map(({ session }) => session.session?.kernel);
    return all.find((other) => other?.id === kernel.id && other.handleComms) ?? kernel;
  }

  private listen(session: ISessionContext): void {
    let lost = true;
    const lose = () => {
      if (lost) return;
      lost = true;
      shared.lost.emit();
    };
    session.kernelChanged.connect(lose);
    session.statusChanged.connect((_, status) => {
      if (status === "idle" || status === "busy") {
        if (!lost) return;
        lost = false;
        shared.returned.emit();
      } else if (status !== "unknown") {
        lose();
      }
    });
    if (session.session?.kernel) shared.returned.emit();
  }
}
