/** Commands of the command palette. */

import type { JupyterFrontEnd } from "@jupyterlab/application";
import { type ICommandPalette, Notification } from "@jupyterlab/apputils";
import { type INotebookTracker, NotebookActions, type NotebookPanel } from "@jupyterlab/notebook";
import { MAGICS, under } from "./magic";

const CATEGORY = "jaxscope";
/** Milliseconds to read a sentence. */
const READING_MS = 8000;
export const OPEN = "jaxscope:open-compiles";

export function addCommands(
  app: JupyterFrontEnd,
  tracker: INotebookTracker,
  palette: ICommandPalette | null,
  openPanel: () => void,
): void {
  const { commands } = app;
  const isEnabled = () => tracker.activeCell?.model.type === "code";
  const add = (command: string, label: string, caption: string, execute: () => void, on = true) => {
    commands.addCommand(command, { label, caption, execute, ...(on ? { isEnabled } : {}) });
    palette?.addItem({ command, category: CATEGORY });
  };
  add(
    OPEN,
    "Show Compilations of This Notebook",
    "JAX compilations and their causes",
    openPanel,
    false,
  );
  for (const { name, options, runs, label } of MAGICS) {
    const caption = `Inserts %%${name} above the active cell${runs ? " and runs it" : ""}`;
    add(`jaxscope:${runs ? "run" : "insert"}-${name}`, label, caption, () => {
      const panel = tracker.currentWidget;
      if (!insert(tracker, name, options) || !runs || !panel) return;
      void NotebookActions.run(panel.content, panel.sessionContext);
    });
  }
}

/** Inserts the magic above the active cell; returns whether it is there now. */
function insert(tracker: INotebookTracker, name: string, options: string): boolean {
  const cell = tracker.activeCell;
  if (cell?.model.type !== "code") return false;
  const edited = under(cell.model.sharedModel.getSource(), name, options);
  if ("refused" in edited) {
    Notification.info(edited.refused, { autoClose: READING_MS });
    return false;
  }
  cell.model.sharedModel.setSource(edited.text);
  if (!options || !cell.editor || !tracker.currentWidget) return true;
  // The magic needs options: place the cursor there.
  tracker.currentWidget.content.mode = "edit";
  cell.editor.focus();
  cell.editor.setCursorPosition({ line: 0, column: `%%${name}${options}`.length });
  return true;
}

/** Inserts a cell with `%load_ext jaxscope` at the top, and runs it. */
export async function loadExtension(panel: NotebookPanel): Promise<void> {
  const { content, sessionContext } = panel;
  const model = content.model;
  if (!model || content.widgets.length === 0) return;
  model.sharedModel.insertCell(0, { cell_type: "code", source: "%load_ext jaxscope" });
  content.deselectAll();
  content.activeCellIndex = 0;
  await NotebookActions.run(content, sessionContext);
}
