/** A report in an element: the first line immediately, then head, tabs and views. */

import { button, element, quoted, select, uid } from "./dom";
import type { Host } from "./host";
import { ReportModel } from "./model";
import { nextSteps } from "./next";
import { loadPayload } from "./payload";
import type { DiffDataJson } from "./schema/report";
import { tablist } from "./tablist";
import { themeSwitch } from "./theme";
import { comparisonNode } from "./views/comparison";
import { diffParts } from "./views/diff";
import { IrView } from "./views/ir";
import { tabView } from "./views/tab";
import type { View } from "./views/view";

export interface Rendered {
  /** Once the payload is unpacked. */
  readonly model?: ReportModel;
  /** Resolves when everything is drawn, or when the error is shown. */
  readonly ready: Promise<void>;
  /** Call after a change of size that the page does not report. */
  layout(): void;
  /** Takes all the room around it: it is not one of many outputs. */
  fill(): void;
  dispose(): void;
}

export function renderReport(parent: HTMLElement, payload: unknown, host: Host): Rendered {
  return new Report(parent, payload, host);
}

class Report implements Rendered {
  model?: ReportModel;
  readonly ready: Promise<void>;
  private readonly root = element("div", "jxs-root");
  private readonly ends: (() => void)[] = [];
  private views: View[] = [];
  private code: IrView | null = null;
  private expander: HTMLButtonElement | null = null;
  private gone = false;

  constructor(
    parent: HTMLElement,
    payload: unknown,
    private readonly host: Host,
  ) {
    this.root.dataset.host = host.name;
    this.root.setAttribute("role", "region");
    this.root.setAttribute("aria-label", `jaxscope report: ${facts(payload)[0]}`);
    this.root.append(head(facts(payload)));
    this.root.classList.add(host.name === "page" ? "jxs-fills" : "jxs-compact");
    parent.append(this.root);
    this.ready = this.read(payload);
  }

  private async read(payload: unknown): Promise<void> {
    try {
      const found = await loadPayload(payload);
      if (this.gone) return;
      if (found.kind === "diff") {
        this.drawDiff(found.diff, found.notes);
        return;
      }
      if (found.kind === "comparison") {
        this.root.replaceChildren(comparisonNode(found.markup, found.notes));
        return;
      }
      const model = new ReportModel(found.payload, found.data, this.host);
      this.model = model;
      this.ends.push(() => model.dispose());
      this.draw(model, found.notes);
    } catch (error) {
      if (this.gone) return;
      this.fail(error);
    }
  }

  private draw(model: ReportModel, notes: readonly string[]): void {
    const { record, programs, first, tabs } = model.data;
    const shown = [...record.notes, ...notes].filter(Boolean);
    const start = beginning(model);
    // Without a program the notes are the content.
    const empty = !model.programJson && start === 0;
    const top = head(first, empty ? 0 : 1);
    if (record.programs.length > 1) {
      const names = record.programs.map((p, i) => programs[i]?.title || programTitle(p));
      top.append(select("Program", names, (index) => model.chooseProgram(index)));
      const stop = model.on("program", () => {
        // The head shows the facts of the chosen program.
        const own = model.program ? programs[model.program]?.first : first;
        if (own?.length) showFacts(top, own);
      });
      this.ends.push(stop);
    }
    this.addTheme(top);
    const notesOfCode = model.programJson || empty ? shown : [];
    const code = new IrView(model, notesOfCode, this.isCompact, (rows) => {
      this.root.style.setProperty("--jxs-rows", String(rows));
    });
    this.code = code;
    const next = nextSteps(this.host, model.payload.id, (finding) => {
      return this.root.querySelectorAll("ol.findings > li")[finding - 1] ?? null;
    });
    this.ends.push(next.dispose);
    top.append(next.element);
    this.addRoom(top);
    this.views = [
      code,
      ...tabs.map((tab) => tabView(model, tab, tab.key === "details" ? shown : [])),
    ];
    const titles = ["Code", ...tabs.map((tab) => tab.title)];
    const parts = tablist(
      uid(),
      "Parts of the report",
      titles.map((title, i) => ({ title, view: this.views[i] ?? code })),
    );
    if (shown.length && !empty && !model.programJson) {
      parts.bar.append(element("span", "jxs-note", ...quoted(shown.join(" · "))));
    }
    // A link in a finding or a table opens the tab with the code.
    let pinned = model.pinned;
    const lead = model.on("selection", () => {
      if (model.pinned && model.pinned !== pinned && model.pinned.origin === "tab") parts.open(0);
      pinned = model.pinned;
    });
    this.ends.push(lead);
    this.root.replaceChildren(top, parts.bar, parts.main);
    parts.open(start);
  }

  private drawDiff(diff: DiffDataJson, notes: readonly string[]): void {
    const parts = diffParts({ ...diff, notes: [...diff.notes, ...notes] });
    this.views = parts.map(({ view }) => view);
    const top = head(diff.first, 0);
    this.addTheme(top);
    this.addRoom(top);
    const list = tablist(uid(), "Parts of the comparison", parts);
    this.root.replaceChildren(top, list.bar, list.main);
    list.open(0);
  }

  private get isCompact(): boolean {
    return this.root.classList.contains("jxs-compact");
  }

  /** In a notebook: full height, with more panes of code, or a panel of its own. */
  private addRoom(top: HTMLElement): void {
    if (this.root.classList.contains("jxs-fills")) return;
    const more = this.code ? " and more panes" : "";
    const expand = button("expand", `Expand: full height${more}`, () => {
      this.setCompact(!this.isCompact);
    });
    this.expander = expand;
    expand.setAttribute("aria-expanded", "false");
    const room = element("span", "jxs-room", expand);
    const { openBeside } = this.host;
    if (openBeside) {
      const beside = () => openBeside.call(this.host);
      const node = button("", "Open beside the notebook, in a panel", beside);
      node.append(element("span", "jxs-unit", "open "), "beside");
      room.append(node);
    }
    top.append(room);
  }

  private setCompact(on: boolean): void {
    this.root.classList.toggle("jxs-compact", on);
    this.expander?.setAttribute("aria-expanded", String(!on));
    if (this.expander) this.expander.textContent = on ? "expand" : "compact";
    this.code?.setCompact(on);
    this.layout();
  }

  fill(): void {
    this.root.classList.add("jxs-fills");
    this.setCompact(false);
    this.expander?.parentElement?.remove();
  }

  /** A page has a switch of its own; elsewhere the theme is the host's. */
  private addTheme(top: HTMLElement): void {
    if (this.host.name !== "page") return;
    const theme = themeSwitch(this.root);
    top.append(theme.element);
    this.ends.push(theme.dispose);
  }

  private fail(error: unknown): void {
    const words = error instanceof Error ? error.message : String(error);
    const message = element("p", "jxs-failed", words);
    message.setAttribute("role", "alert");
    this.root.append(message);
  }

  layout(): void {
    for (const view of this.views) {
      if (view.element.checkVisibility?.() ?? true) view.shown?.();
    }
  }

  dispose(): void {
    this.gone = true;
    for (const view of this.views) view.dispose?.();
    for (const end of this.ends) end();
    this.root.remove();
  }
}

/** The tab that is open first: without a program, that of the profiled cell where there is one. */
function beginning({ data, programJson }: ReportModel): number {
  return !programJson && data.tabs[0]?.key === "profile" ? 1 : 0;
}

/** The facts of the first line, before anything is unpacked. */
function facts(payload: unknown): string[] {
  const summary =
    typeof payload === "object" && payload !== null && "summary" in payload ? payload.summary : "";
  return typeof summary === "string" && summary ? summary.split(" · ") : ["jaxscope"];
}

function head(first: readonly string[], lead = 1): HTMLElement {
  const top = element("header", "jxs-top", element("h1"), element("ul", "jxs-facts"));
  showFacts(top, first, lead);
  return top;
}

/** Replaces the first line in the head. */
function showFacts(top: HTMLElement, [title = "", ...rest]: readonly string[], lead = 1): void {
  const facts = rest.map((fact) => element("li", "", ...withAside(fact)));
  // After the device comes the time per call, the fact that people look for first.
  facts[rest.length > 1 ? lead : 0]?.classList.add("jxs-lead");
  top.querySelector("h1")?.replaceWith(element("h1", "", title));
  top.querySelector(".jxs-facts")?.replaceChildren(...facts);
  top.title = [title, ...rest].join(" · ").replaceAll("`", "");
}

/** What goes where there is little room: parentheses at the end of a fact, then `per call`. */
function withAside(fact: string): (Node | string)[] {
  const [, main = "", unit, aside] = /^(.+?)( per call)?( \([^()]*\))?$/.exec(fact) ?? [];
  return [
    ...quoted(main),
    ...(unit ? [element("span", "jxs-unit", unit)] : []),
    ...(aside ? [element("span", "jxs-extra", aside)] : []),
  ];
}

function programTitle({ name, transforms }: { name: string; transforms: string[] }): string {
  return [...transforms].reverse().reduce((inner, outer) => `${outer}(${inner})`, name);
}
