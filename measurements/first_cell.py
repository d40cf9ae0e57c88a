"""Time of the first `%%jaxjit` cell of a kernel beyond a later one, in fresh processes.

Both without JAX's own stages and the run. The budget is 150 ms on a machine that imports IPython in
90 ms; the yardstick is that import, in the same process.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from measurements.budget import ratio
from measurements.process import printed

ROUNDS = 5
BUDGET = 0.150 / 0.090
_CODE = """
import time
began = time.perf_counter()
import IPython
ipython = time.perf_counter() - began
import json, statistics
from measurements.cell_overhead import CELLS
from measurements.shell import run, shell
with shell() as (made, counter):
    run(made, "import jax, jax.numpy as jnp; W = [jnp.ones((64, 64))] * 3; lr = 0.01")
    import jaxscope
    beyond = []
    for rows in range(32, 36):
        before = counter.seconds
        wall = run(made, "%%jaxjit -n 1" + CELLS["MLP train step"].format(rows=rows))
        ran = jaxscope.last().timings[0].median_s
        beyond.append(wall - (counter.seconds - before) - ran)
print(json.dumps([ipython, beyond[0] - statistics.median(beyond[1:])]))
"""


def measure(rounds: int = ROUNDS) -> dict[str, Any]:
    pairs = [_process() for _ in range(rounds)]
    extra = [more for _, more in pairs]
    return ratio(extra, [ipython for ipython, _ in pairs], BUDGET, "import IPython")


def _process() -> tuple[float, float]:
    ipython, extra = printed(_CODE)
    return ipython, extra


if __name__ == "__main__":
    json.dump(measure(*map(int, sys.argv[1:])), sys.stdout, indent=1)
