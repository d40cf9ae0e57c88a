/** The frame of a text: a head with its name and tools, and a foot with its state. */

import { button, element } from "../dom";
import type { PaneEvents } from "../text/pane";
import { TextPane } from "../text/pane";
import { copyText, download } from "../text/save";
import type { Language } from "../text/tokens";
import { Message } from "./message";

export class Frame {
  readonly element: HTMLElement;
  readonly head: HTMLElement;
  readonly tools: HTMLElement;
  readonly foot: HTMLElement;
  readonly pane: TextPane;
  private readonly message = new Message();
  private text = "";
  /** What the report is searched for. */
  private query = "";

  constructor(
    name: string,
    readonly label: string,
    language: Language,
    events: PaneEvents,
  ) {
    this.pane = new TextPane(label, language, events);
    this.tools = element("span", "jxs-tools");
    this.head = element("header", "jxs-pane-head", this.tools);
    this.foot = element("footer", "jxs-pane-foot");
    const body = element("div", "jxs-pane-body", this.pane.element, this.message.element);
    this.element = element("section", "jxs-pane", this.head, body, this.foot);
    this.element.dataset.pane = name;
    this.element.setAttribute("aria-label", label);
    // A click focuses the editor and would draw a focus ring, which only keyboard users need.
    const pointed = (on: boolean) => () => this.element.classList.toggle("jxs-pointed", on);
    this.element.addEventListener("pointerdown", pointed(true), true);
    this.element.addEventListener("keydown", pointed(false), true);
  }

  /** Marks every match, goes to the first, and returns their number. */
  search(query: string): number {
    this.query = query;
    return this.pane.search(query);
  }

  get searched(): boolean {
    return this.query !== "";
  }

  show(text: string, lines?: readonly string[], line?: number): void {
    this.text = text;
    this.message.hide();
    this.pane.element.hidden = false;
    this.pane.show(text, lines, line);
    if (this.query) this.pane.search(this.query);
  }

  /** Shows a message in place of the text, with a button where trying again may help. */
  showMessage(text: string, busy = false, retry?: () => void, label?: string): void {
    this.text = "";
    this.pane.show("");
    this.pane.element.hidden = true;
    this.message.show(text, busy, retry, label);
  }

  /** Copy and download of the whole text. */
  exports(name: () => string): HTMLElement[] {
    const copy = button("copy", "Copy this text", () => void this.copy(copy));
    const save = button("↓", "Download this text", () => download(this.text, name()));
    return [copy, save];
  }

  private async copy(node: HTMLElement): Promise<void> {
    node.textContent = (await copyText(this.text, this.element)) ? "copied" : "not allowed";
    setTimeout(() => {
      node.textContent = "copy";
    }, 1500);
  }

  dispose(): void {
    this.pane.dispose();
    this.element.remove();
  }
}
