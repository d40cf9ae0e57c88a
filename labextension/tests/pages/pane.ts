/** A page with text panes side by side, for the browser tests: `window.pane(id)` is one of them, `window.told` what they said, the last of each kind on the body. */

import { type Language, TextPane } from "../../src/text/pane";
import "../../style/base.css";
import "../../style/head.css";
import "../../style/code.css";
import "../../style/room.css";
import "../../style/pane.css";

declare global {
  interface Window {
    told: (string | number)[][];
    panes: Map<string, TextPane>;
    add(id: string, language: Language): TextPane;
  }
}

window.told = [];
window.panes = new Map();
window.add = (id, language) => {
  const tell =
    (name: string) =>
    (...rest: number[]) => {
      window.told.push([name, ...rest]);
      document.body.dataset[name] = rest.join(":");
    };
  const pane = new TextPane(id, language, {
    hover: tell("hover"),
    leave: tell("leave"),
    pick: tell("pick"),
    move: tell("move"),
  });
  pane.element.dataset.pane = id;
  document.querySelector(".jxs-root")?.append(pane.element);
  window.panes.set(id, pane);
  return pane;
};
