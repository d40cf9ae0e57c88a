/** A message in place of a text or a graph, with a button where trying again may help. */

import { element } from "../dom";
import type { Notice } from "./states";

export class Message {
  readonly element = element("div", "jxs-said");

  constructor() {
    this.hide();
  }

  show(text: string, busy = false, retry?: () => void, label = "Try again"): void {
    const line = element("p", busy ? "jxs-busy" : "", text);
    line.setAttribute("role", "status");
    this.element.replaceChildren(line);
    if (retry) {
      const button = element("button", "jxs-button", label);
      button.addEventListener("click", retry);
      this.element.append(button);
    }
    this.element.hidden = false;
  }

  /** Shows a notice; hides without one, or without words. */
  notify(notice: Notice | null, retry: () => void): void {
    if (notice?.text) this.show(notice.text, notice.busy, notice.retry ? retry : undefined);
    else this.hide();
  }

  hide(): void {
    this.element.hidden = true;
  }
}
