/** Keys of a pane. Handled keys are stopped: in a notebook, letters are commands. */

import type { EditorView } from "@codemirror/view";

export interface KeyEvents {
  /** Moves the active line. */
  move(by: number): void;
  pick(): void;
  step(by: number): void;
  fold(on: boolean): boolean;
}

/** Lines that a key moves by; 0 for other keys. */
export function stepOf(key: string, page: number): number {
  const steps: Readonly<Record<string, number>> = {
    ArrowDown: 1,
    ArrowUp: -1,
    PageDown: page,
    PageUp: -page,
    Home: Number.NEGATIVE_INFINITY,
    End: Number.POSITIVE_INFINITY,
  };
  return steps[key] ?? 0;
}

/** Handles a key; returns whether it did. */
export function handleKey(event: KeyboardEvent, view: EditorView, events: KeyEvents): boolean {
  const taken = take(event, view, events);
  if (taken) event.preventDefault();
  // An unhandled letter must not reach the notebook, where it may delete a cell. The slash searches.
  const command = event.ctrlKey || event.metaKey || event.altKey;
  const letter = event.key.length === 1 && event.key !== "/" && !command;
  if (taken || letter) event.stopPropagation();
  return taken;
}

function take(event: KeyboardEvent, view: EditorView, events: KeyEvents): boolean {
  const command = event.ctrlKey || event.metaKey;
  if (event.altKey) return false;
  if (command) {
    if (event.key !== "a") return false;
    view.dispatch({ selection: { anchor: 0, head: view.state.doc.length } });
    return true;
  }
  if (event.key === "F3") events.step(event.shiftKey ? -1 : 1);
  else if (event.shiftKey) return false;
  else if (event.key === "Enter") events.pick();
  else if (event.key === "-" || event.key === "+") return events.fold(event.key === "-");
  else {
    const rows = Math.floor(view.scrollDOM.clientHeight / view.defaultLineHeight);
    const step = stepOf(event.key, Math.max(1, rows - 1));
    if (!step) return false;
    events.move(step);
  }
  return true;
}
