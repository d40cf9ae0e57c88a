/** A text that is read and never written: its lines in the editor, the ends of the longest left out. */

import { EditorState, type Extension, Text } from "@codemirror/state";
import { Decoration, EditorView } from "@codemirror/view";
import { cutOff } from "./hidden";
import { Words } from "./paint";

export function documentOf(lines: readonly string[]): Text {
  return Text.of(lines.length ? lines : [""]);
}

/** Known from the start, so that the editor never makes room for what is not drawn. */
export function cuts(lines: readonly string[], doc: Text): Extension {
  const found = lines.flatMap((line, index) => {
    const cut = cutOff(line);
    if (!cut) return [];
    const { from } = doc.line(index + 1);
    const widget = new Words(cut.text, "jxs-cut", "the rest of the line is not drawn");
    return [Decoration.replace({ widget }).range(from + cut.from, from + cut.to)];
  });
  return EditorView.decorations.of(Decoration.set(found));
}

/** Focus without a caret; `label` is asked for anew as the editor is drawn. */
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

/** The nonce of the page's own style element, where its policy asks for one. */
function pageNonce(): string {
  return document.querySelector<HTMLElement>("style[nonce], link[nonce]")?.nonce ?? "";
}
