"""The cells of `tests/cells` in plain Python and under `%%jaxjit`, each twice: how many agree."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import sys
from pathlib import Path
from typing import Any


def measure() -> dict[str, Any]:
    """Cells that agree in every name and in `Out`, and those that do not, by name."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "magics"))
    from cell_case import read_cases
    from cell_check import check, magic_line
    from cell_shell import open_shell

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
