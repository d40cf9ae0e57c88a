/** A read-only document, with the ends of very long lines cut off. */

import { EditorState, type Extension, type Range, Text } from "@codemirror/state";
import { Decoration, EditorView } from "@codemirror/view";
import { cutOff } from "./hidden";
import { Placeholder } from "./paint";

export function documentOf(lines: readonly string[]): Text {
  return Text.of(lines.length ? lines : [""]);
}

/** Given with the state, so that the editor never measures the hidden parts. */
export function cuts(lines: readonly string[], doc: Text): Extension {
  const found: Range<Decoration>[] = [];
  for (const [index, line] of lines.entries()) {
    const cut = cutOff(line);
    if (!cut) continue;
    const { from } = doc.line(index + 1);
    const widget = new Placeholder(cut.text, "jxs-cut", "the rest of this line is not shown");
    found.push(Decoration.replace({ widget }).range(from + cut.from, from + cut.to));
  }
  return EditorView.decorations.of(Decoration.set(found));
}

/** Focus without a caret; `label` is read at each update. */
export function readOnly(label: () => string): Extension {
  return [
    EditorState.readOnly.of(true),
    EditorView.editable.of(false),
    EditorView.cspNonce.of(pageNonce()),
    EditorView.contentAttributes.of(() => ({
      tabindex: "0",
      "aria-readonly": "true",
      "aria-label": label(),
      spellcheck: "false",
    })),
  ];
}

/** The nonce of the page's style element, for pages whose policy needs one. */
function pageNonce(): string {
  return document.querySelector<HTMLElement>("style[nonce], link[nonce]")?.nonce ?? "";
}
