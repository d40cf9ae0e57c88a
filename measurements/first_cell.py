"""Time of the first `%%jaxjit` cell of a kernel beyond a later one, in fresh processes.

Both without JAX's own stages and the run. What the first cell needs is imported in the background
from the import of jax on: `after a pause` of two seconds, as a user types, and `at once`, as
"Run All" does, where the cell waits for it. Python's full collection, due some time after so many
imports, is done before: it takes as long as the whole cell, in whichever code it falls. The budget
is 150 ms on a machine that imports IPython in 90 ms; the yardstick is that import, in the same
process.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from measurements.budget import ratio
from measurements.process import printed

ROUNDS = 5
BUDGET = 0.150 / 0.090
PAUSES = {"at once": 0.0, "after a pause": 2.0}
_CODE = """
import time
began = time.perf_counter()
import IPython
ipython = time.perf_counter() - began
import gc, json, statistics
from measurements.cell_overhead import CELLS
from measurements.shell import run, shell
with shell() as (made, counter):
    run(made, "import jax, jax.numpy as jnp; W = [jnp.ones((64, 64))] * 3; lr = 0.01")
    import jaxscope
    time.sleep({pause})
    gc.collect()
    beyond = []
    for rows in range(32, 36):
        before = counter.seconds
        wall = run(made, "%%jaxjit -n 1" + CELLS["MLP train step"].replace("{{rows}}", str(rows)))
        ran = jaxscope.last().timings[0].median_s
        beyond.append(wall - (counter.seconds - before) - ran)
print(json.dumps([ipython, beyond[0] - statistics.median(beyond[1:])]))
"""


def measure(rounds: int = ROUNDS) -> dict[str, Any]:
    _process(0.0)  # compiles what was edited to bytecode, which an installed package has
    found: dict[str, Any] = {}
    for name, pause_s in PAUSES.items():
        pairs = [_process(pause_s) for _ in range(rounds)]
        extra = [more for _, more in pairs]
        yardstick = [ipython for ipython, _ in pairs]
        found[name] = ratio(extra, yardstick, BUDGET, "import IPython")
    return found


def _process(pause_s: float) -> tuple[float, float]:
    ipython, extra = printed(_CODE.format(pause=pause_s), {"PYTHONDONTWRITEBYTECODE": ""})
    return ipython, extra


if __name__ == "__main__":
    json.dump(measure(*map(int, sys.argv[1:])), sys.stdout, indent=1)
