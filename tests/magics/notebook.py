"""A notebook in a real `InteractiveShell`: run cells, see what each gave, said and raised."""

from __future__ import annotations

import contextlib
import io
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.magics.cells.cell_shell import CellShell, open_shell


@dataclass(frozen=True, slots=True)
class Ran:
    """What one cell left behind."""

    value: Any
    error: BaseException | None
    printed: str
    shown: tuple[dict[str, Any], ...]
    """The data of each display, reports among them."""

    @property
    def message(self) -> str:
        """The error as a user reads it: its text and its notes."""
        assert self.error is not None, "the cell raised nothing"
        return "\n".join([str(self.error), *getattr(self.error, "__notes__", ())])

    @property
    def text(self) -> str:
        """All displays as plain text."""
        return "\n".join(data.get("text/plain", "") for data in self.shown)

    @property
    def frames(self) -> tuple[tuple[str, int], ...]:
        """File and line of the error's frames below IPython's call of the magic, outermost first.

        Frames that ask not to be shown are left out, as IPython does.
        """
        assert self.error is not None, "the cell raised nothing"
        found = [
            (frame.f_code.co_filename, line)
            for frame, line in traceback.walk_tb(self.error.__traceback__)
            if not frame.f_locals.get("__tracebackhide__")
        ]
        inside = [i for i, (file, _) in enumerate(found) if file.endswith("interactiveshell.py")]
        return tuple(found[inside[-1] + 1 :] if inside else found)


class Notebook:
    """A shell with jaxscope loaded."""

    def __init__(self, shell: CellShell) -> None:
        self.shell = shell
        self.names: dict[str, Any] = shell.user_ns

    def run(self, source: str) -> Ran:
        """Run one cell as the front end would."""
        self.shell.display_pub.outputs.clear()
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            result = self.shell.run_cell(source, store_history=True)
        error = result.error_before_exec or result.error_in_exec
        shown = tuple(output["data"] for output in self.shell.display_pub.outputs)
        return Ran(result.result, error, printed.getvalue(), shown)

    def must(self, source: str) -> Ran:
        """Run a cell that may not fail."""
        ran = self.run(source)
        if ran.error is not None:
            raise ran.error
        return ran


@contextlib.contextmanager
def open_notebook() -> Iterator[Notebook]:
    """A fresh shell in which `%load_ext jaxscope` was run."""
    with open_shell() as shell:
        notebook = Notebook(shell)
        notebook.must("%load_ext jaxscope")
        try:
            yield notebook
        finally:
            notebook.must("%unload_ext jaxscope")
