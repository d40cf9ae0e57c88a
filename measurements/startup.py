"""Seconds of `import jaxscope` and of `%load_ext jaxscope` in fresh processes, without jax."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from typing import Any

_ROUNDS = 9
_CODES = {
    "import jaxscope": """
import sys, time
began = time.perf_counter()
import jaxscope
seconds = time.perf_counter() - began
print(seconds, 'jax' in sys.modules)
""",
    "%load_ext jaxscope": """
import sys, time
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
began = time.perf_counter()
shell.run_line_magic('load_ext', 'jaxscope')
seconds = time.perf_counter() - began
print(seconds, 'jax' in sys.modules)
""",
}
BUDGETS_S = {"import jaxscope": 0.050, "%load_ext jaxscope": 0.150}


def measure() -> dict[str, Any]:
    """Medians of fresh processes, taken in turn; whether jax was imported along the way."""
    samples: dict[str, list[float]] = {name: [] for name in _CODES}
    with_jax: dict[str, bool] = dict.fromkeys(_CODES, False)
    for _ in range(_ROUNDS):
        for name, code in _CODES.items():
            done = subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True, check=True
            )
            seconds, imported = done.stdout.split()
            samples[name].append(float(seconds))
            with_jax[name] |= imported == "True"
    return {
        name: {
            "median_s": statistics.median(taken),
            "budget_s": BUDGETS_S[name],
            "imports_jax": with_jax[name],
            "ok": statistics.median(taken) <= BUDGETS_S[name] and not with_jax[name],
            "samples": taken,
        }
        for name, taken in samples.items()
    }


if __name__ == "__main__":
    json.dump(measure(), sys.stdout, indent=1)
