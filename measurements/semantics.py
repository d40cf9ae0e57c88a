"""Agreement of the cells of `tests/cells` in plain Python and under `%%jaxjit`, each run twice."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import sys
from typing import Any

from tests.magics.cells.cell_case import read_cases
from tests.magics.cells.cell_check import check, magic_line
from tests.magics.cells.cell_shell import open_shell


def measure() -> dict[str, Any]:
    """Cells that differ in a name or in `Out`, by name."""
    cases = [case for case in read_cases() if all(map(importlib.util.find_spec, case.needs))]
    wrong: list[str] = []
    with contextlib.redirect_stdout(io.StringIO()), open_shell() as shell:
        for case in cases:
            shell.run_line_magic("load_ext", "jaxscope")
            if check(shell, case, magic_line(case)):
                wrong.append(case.name)
            shell.run_line_magic("unload_ext", "jaxscope")
    return {"cells": len(cases), "wrong": wrong, "budget": 0, "ok": not wrong}


if __name__ == "__main__":
    json.dump(measure(), sys.stdout, indent=1)
