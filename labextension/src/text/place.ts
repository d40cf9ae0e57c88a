/** The position of the pointer in a text. */

import type { EditorView } from "@codemirror/view";
import { toCharacters } from "./columns";

/** The line and the character under the pointer; -1 outside of the text, null outside of all lines. */
export function placeOf(
  view: EditorView,
  { clientX: x, clientY: y }: MouseEvent,
): [line: number, column: number] | null {
  const height = y - view.documentTop;
  if (height < 0 || height > view.contentHeight) return null;
  let at = view.posAtCoords({ x, y }, false);
  const line = view.state.doc.lineAt(at);
  const edge = view.coordsAtPos(at);
  if (edge && x < edge.left && at > line.from) at--;
  const beyond = at >= line.to || !edge || x < edge.left - 2 * view.defaultCharacterWidth;
  return [line.number, beyond ? -1 : toCharacters(line.text, at - line.from)];
}
