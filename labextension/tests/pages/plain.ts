/** CodeMirror alone with the text of `#text`: the yardstick of `measurements/viewer.py`. */

import { EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";

const doc = document.getElementById("text")?.textContent ?? "";
const state = EditorState.create({ doc, extensions: [EditorState.readOnly.of(true)] });
new EditorView({ state, parent: document.body });
