"""Names of the cells and files in which programs compile."""

from __future__ import annotations

import os
import sys
from typing import Any


class Places:
    """Names without a session; a session overrides them with its cell history."""

    def cell(self, serial: int) -> int | None:
        """The number of the cell that ran during this compilation."""
        return None

    def cell_id(self, serial: int) -> str:
        """The front end's id of that cell."""
        return ""

    def number(self, file: str, serial: int) -> int | None:
        """The number of the cell that has this file name, as of this compilation."""
        found = filename_map(current_shell()).get(file)
        return found if isinstance(found, int) else None

    def name(self, file: str, serial: int) -> str:
        """`In [3]`, `train.py`, or Python's own name for it."""
        number = self.number(file, serial)
        return f"In [{number}]" if number is not None else os.path.basename(file) or file


def current_shell() -> Any:
    """The running IPython shell, if there is one; imports nothing."""
    ipython = sys.modules.get("IPython")
    get = getattr(ipython, "get_ipython", None)
    return get() if get is not None else None


def running_number(shell: Any) -> int:
    """The number of the running cell. IPython 9.18 increases `execution_count` before it runs."""
    stored = getattr(shell.history_manager, "input_hist_parsed", ())
    return len(stored) - 1 if len(stored) > 1 else shell.execution_count


def next_number(shell: Any) -> int:
    """The number of a cell that is about to run. IPython 9.18 stores its input after that."""
    stored = getattr(shell.history_manager, "input_hist_parsed", ())
    return len(stored) or shell.execution_count


def cell_name(file: str) -> str | None:
    """`In [3]` for the file name of a cell of the running IPython, else None."""
    number = filename_map(current_shell()).get(file)
    return None if number is None else f"In [{number}]"


def filename_map(shell: Any) -> dict[str, int]:
    """IPython's own table: the file name of each cell's code and the number it last ran under.

    `CachingCompiler._filename_map`, seen on IPython 8.18 to 9.18. Empty when it is gone: locations
    are then shown by file name.
    """
    found = getattr(getattr(shell, "compile", None), "_filename_map", None)
    return found if isinstance(found, dict) else {}
