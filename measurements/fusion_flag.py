"""jax#37465: the line, the fusion that XLA loses there, the option that restores it, its gain.

Where this jaxlib does not show it, `shown` is false and the figures are those of the sweep.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from jaxscope.model import Unavailable
from jaxscope.results.report import Report
from tests.magics.notebook import open_notebook

LIMIT_S = 120.0
OPTION = "xla_cpu_experimental_ynn_fusion_type"
SETUP = """
import jax, jax.numpy as jnp, jaxscope
x = jax.random.normal(jax.random.key(0), (128, 128, 128))
flag = {"xla_cpu_experimental_ynn_fusion_type": ""}
"""
CELL = """def reg_square(x):
    cost = 0.0
    for axis in range(x.ndim):
        cost += jnp.sum(jnp.square(jnp.diff(x, axis=axis)))
    return cost
"""


def measure() -> dict[str, Any]:
    """From the definition of the function to the answer, in a notebook."""
    with open_notebook() as notebook:
        notebook.must(SETUP)
        began = time.perf_counter()
        notebook.must(CELL)
        notebook.must("%jaxflags -q -o flags reg_square(x)")
        notebook.must(
            "with jaxscope.options(runs=1):\n"
            "    before = jaxscope.inspect(reg_square, x)\n"
            "    after = jaxscope.inspect(jax.jit(reg_square, compiler_options=flag), x)"
        )
        before, after = notebook.names["before"], notebook.names["after"]
        lost, kept = _slices(before), _slices(after)
        seconds = time.perf_counter() - began
        trials = notebook.names["flags"].trials
    found = next((one for one in trials if one.options == ((OPTION, ""),)), None)
    ratio = None if found is None else found.ratio
    gain = None if ratio is None else [1 / ratio.estimate, 1 / ratio.high, 1 / ratio.low]
    shown = found is not None and str(found.verdict) == "better"
    return {
        "line": sorted({line for lines in lost.values() for line in lines}),
        "kernels_of_slices": {"default": len(lost), "with_the_option": len(kept)},
        "option": f"{OPTION}=''",
        "times_faster": None if gain is None else [round(one, 2) for one in gain],
        "peak_bytes": None
        if found is None or found.before is None or found.after is None
        else [found.before.peak, found.after.peak],
        "options_tried": [f"{one.title}: {one.verdict}" for one in trials],
        "shown": shown,
        "seconds": seconds,
        "limit_s": LIMIT_S,
        "ok": shown and seconds <= LIMIT_S and len(lost) > len(kept),
    }


def _slices(report: Report) -> dict[str, tuple[int, ...]]:
    """Kernels of slices alone, with the lines of the function behind them."""
    found = report.kernels()
    if isinstance(found, Unavailable):
        return {}
    return {one.name: tuple(one.lines) for one in found if "slice" in one.name}


if __name__ == "__main__":
    json.dump(measure(), sys.stdout, indent=1)
