/** Cells of a notebook, found by id and scrolled to. */

import { type Cell, isCodeCellModel } from "@jupyterlab/cells";
import type { NotebookPanel } from "@jupyterlab/notebook";
import { object, string } from "../json";
import { MIME } from "../schema/report";

export function cellOf(panel: NotebookPanel, id: string): Cell | undefined {
  return panel.content.widgets.find((cell) => cell.model.id === id);
}

/** The id of the cell whose output is this report. */
export function cellWith(panel: NotebookPanel, report: string): string | undefined {
  const found = panel.content.widgets.find(({ model }) => {
    if (!isCodeCellModel(model)) return false;
    const { outputs } = model;
    return Array.from({ length: outputs.length }, (_, i) => outputs.get(i).data[MIME]).some(
      (value) => string(object(value)?.id) === report,
    );
  });
  return found?.model.id;
}

/** Scrolls to a cell and selects a line of it, counted from 1. */
export async function openCell(
  panel: NotebookPanel,
  cell: Cell,
  line: number | null,
): Promise<void> {
  const notebook = panel.content;
  notebook.deselectAll();
  notebook.activeCellIndex = notebook.widgets.indexOf(cell);
  if (cell.inputHidden) cell.inputHidden = false;
  await notebook.scrollToCell(cell, "center");
  await cell.ready;
  const editor = cell.editor;
  if (line === null || !editor || line > editor.lineCount) return;
  const position = { line: line - 1, column: 0 };
  const end = { line: line - 1, column: editor.getLine(line - 1)?.length ?? 0 };
  notebook.mode = "edit";
  editor.focus();
  editor.setSelection({ start: position, end });
  editor.revealPosition(position);
}
