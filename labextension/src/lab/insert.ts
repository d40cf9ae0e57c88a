/** Code that buttons insert as cells: the examples of the first page, the next steps of a report. */

import { type INotebookTracker, NotebookActions, type NotebookPanel } from "@jupyterlab/notebook";
import { cellOf } from "./cells";
import { exampleOf } from "./magic";

export function insertOnClick(tracker: INotebookTracker): void {
  document.addEventListener("click", ({ target }) => {
    const code = exampleOf(target);
    const panel = tracker.currentWidget;
    if (code === null || !panel || !(target instanceof Node)) return;
    const above = panel.content.widgets.find((cell) => cell.node.contains(target));
    if (above) insertBelow(panel, above.model.id, code);
  });
}

/** Runs code in the cell where its text is still `replaces`, else in a new cell below it. */
export function runCode(
  panel: NotebookPanel,
  id: string | null,
  code: string,
  replaces?: string,
): void {
  const notebook = panel.content;
  const cell = id === null ? undefined : cellOf(panel, id);
  notebook.deselectAll();
  if (cell && cell.model.sharedModel.getSource().trim() === replaces?.trim()) {
    notebook.activeCellIndex = notebook.widgets.indexOf(cell);
    cell.model.sharedModel.setSource(code);
  } else insertBelow(panel, id, code);
  void NotebookActions.run(notebook, panel.sessionContext);
}

/** Inserts a cell below one, or below the active one, and makes it the active one. */
function insertBelow(panel: NotebookPanel, id: string | null, code: string): void {
  const notebook = panel.content;
  const above = id === null ? undefined : cellOf(panel, id);
  if (above) notebook.activeCellIndex = notebook.widgets.indexOf(above);
  NotebookActions.insertBelow(notebook);
  notebook.activeCell?.model.sharedModel.setSource(code);
}
