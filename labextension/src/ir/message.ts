/** A message in place of a text or a graph, with a button where trying again may help. */

import { element } from "../dom";

export class Message {
  readonly element = element("div", "jxs-said");

  constructor() {
    this.hide();
  }

  show(text: string, busy = false, retry?: () => void): void {
    const line = element("p", busy ? "jxs-busy" : "", text);
    line.setAttribute("role", "status");
    this.element.replaceChildren(line);
    if (retry) {
      const button = element("button", "jxs-button", "Try again");
      button.type = "button";
      button.addEventListener("click", retry);
      this.element.append(button);
    }
    this.element.hidden = false;
  }

  hide(): void {
    this.element.hidden = true;
  }
}
