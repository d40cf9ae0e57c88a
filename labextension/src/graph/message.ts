/** Words in place of the drawing: why there is none, and what can be done about it. */

import { element } from "../dom";

export class Message {
  readonly element = element("div", "jxs-said");

  say(words: string, busy = false, again?: () => void): void {
    this.element.hidden = !words;
    this.element.replaceChildren(element("p", busy ? "jxs-busy" : "", words));
    if (!again) return;
    const retry = element("button", "jxs-button", "Try again");
    retry.type = "button";
    retry.addEventListener("click", again);
    this.element.append(retry);
  }
}
