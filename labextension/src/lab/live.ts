/** The live feeds of all open notebooks, for the side panel and the badges. */

import type { ILayoutRestorer, JupyterFrontEnd } from "@jupyterlab/application";
import type { INotebookTracker, NotebookPanel } from "@jupyterlab/notebook";
import type { CompileEventJson } from "../schema/compiles";
import { Badges } from "./badges";
import { cellOf, openCell } from "./cells";
import { inCell } from "./compiles";
import { Feed } from "./feed";
import { runCode } from "./insert";
import { CompilesPanel } from "./panel";

/** Position in the side bar: after the table of contents and the debugger. */
const RANK = 750;

export class Compiles {
  private readonly feeds = new Map<NotebookPanel, Feed>();
  private readonly badges = new Map<NotebookPanel, Badges>();
  private panel: CompilesPanel | null = null;
  private panelOn = false;
  private badgesOn = false;

  constructor(
    private readonly app: JupyterFrontEnd,
    private readonly tracker: INotebookTracker,
    private readonly restorer: ILayoutRestorer | null,
    private readonly load: (panel: NotebookPanel) => Promise<void>,
  ) {
    tracker.widgetAdded.connect((_, panel) => this.add(panel));
    tracker.currentChanged.connect(() => this.follow());
  }

  choose(panelOn: boolean, badgesOn: boolean): void {
    this.panelOn = panelOn;
    this.badgesOn = badgesOn;
    if (panelOn) this.addPanel();
    else this.removePanel();
    if (panelOn || badgesOn)
      this.tracker.forEach((panel) => {
        this.add(panel);
      });
    else for (const feed of [...this.feeds.values()]) this.drop(feed);
    for (const feed of this.feeds.values()) this.updateBadges(feed);
    this.follow();
  }

  openPanel(): void {
    this.addPanel();
    if (this.panel) this.app.shell.activateById(this.panel.id);
  }

  private add(panel: NotebookPanel): void {
    if (this.feeds.has(panel) || !(this.panelOn || this.badgesOn)) return;
    const feed = new Feed(panel);
    this.feeds.set(panel, feed);
    panel.disposed.connect(() => this.drop(feed));
    this.updateBadges(feed);
    this.follow();
  }

  private drop(feed: Feed): void {
    this.badges.get(feed.panel)?.dispose();
    this.badges.delete(feed.panel);
    this.feeds.delete(feed.panel);
    feed.dispose();
    this.follow();
  }

  private updateBadges(feed: Feed): void {
    const known = this.badges.get(feed.panel);
    if (this.badgesOn === Boolean(known)) return;
    known?.dispose();
    this.badges.delete(feed.panel);
    if (!this.badgesOn) return;
    const open = (cellId: string) => {
      this.openPanel();
      this.panel?.showCell([...feed.events].reverse().find((event) => event.cell_id === cellId));
    };
    this.badges.set(feed.panel, new Badges(feed.panel, feed, open));
  }

  private follow(): void {
    const current = this.tracker.currentWidget;
    this.panel?.follow((current && this.feeds.get(current)) ?? null);
  }

  private addPanel(): void {
    if (this.panel && !this.panel.isDisposed) return;
    this.panel = new CompilesPanel({
      open: (feed, event) => this.openCell(feed, event),
      take: ({ panel }, { code }, { cell_id }) => runCode(panel, cell_id || null, code),
      load: (feed) => void this.load(feed.panel),
    });
    this.app.shell.add(this.panel, "right", { rank: RANK, type: "jaxscope" });
    this.restorer?.add(this.panel, this.panel.id);
    this.follow();
  }

  private removePanel(): void {
    this.panel?.dispose();
    this.panel = null;
  }

  private openCell(feed: Feed, event: CompileEventJson): boolean {
    const cell = event.cell_id ? cellOf(feed.panel, event.cell_id) : undefined;
    if (!cell) return false;
    this.app.shell.activateById(feed.panel.id);
    void openCell(feed.panel, cell, inCell(event) ? event.line : null);
    return true;
  }
}
