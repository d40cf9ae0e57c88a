"""Time to import jaxscope and to load its extension, in fresh processes without jax.

The yardsticks are `import numpy` and `import IPython`, each in a process of its own beside ours.
All are compiled to bytecode already, as in an installed package.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from measurements.budget import ratio

ROUNDS = 9
_TIMED = """
import sys, time
{before}
began = time.perf_counter()
{timed}
print(time.perf_counter() - began, 'jax' in sys.modules)
"""
_SHELL = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
"""
_LOAD = "shell.run_line_magic('load_ext', 'jaxscope')"
CASES = {
    "import jaxscope": (("", "import jaxscope"), "import numpy", 0.15),
    "%load_ext jaxscope": ((_SHELL, _LOAD), "import IPython", 1.0),
}
"""By name: the code before the clock starts and the timed one, the yardstick, the budget."""


def measure(rounds: int = ROUNDS) -> dict[str, Any]:
    """Ratios of fresh processes in pairs, and whether jax was imported along the way."""
    found: dict[str, Any] = {}
    for name, ((before, timed), yardstick, budget) in CASES.items():
        ours, theirs, imports_jax = [], [], False
        _process(before, timed)  # compiles what was edited
        for _ in range(rounds):
            seconds, with_jax = _process(before, timed)
            imports_jax |= with_jax
            ours.append(seconds)
            theirs.append(_process("", yardstick)[0])
        row = ratio(ours, theirs, budget, yardstick)
        found[name] = {**row, "imports_jax": imports_jax, "ok": row["ok"] and not imports_jax}
    return found


def _process(before: str, timed: str) -> tuple[float, bool]:
    code = _TIMED.format(before=before, timed=timed)
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    seconds, with_jax = done.stdout.split()
    return float(seconds), with_jax == "True"


if __name__ == "__main__":
    json.dump(measure(*map(int, sys.argv[1:])), sys.stdout, indent=1)
