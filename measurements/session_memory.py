"""Memory after 2000 distinct `%%jaxjit` cells beyond the same 2000 programs in plain JAX.

Each side in a process of its own; the growth of the resident set from the first cell to the last.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from measurements.budget import within_bytes
from measurements.process import printed

CELLS = 2000
BUDGET = 120_000_000
_CODE = """
import json, sys
from measurements.shell import run, shell

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

with shell() as (made, _):
    run(made, "import jax, jax.numpy as jnp\\nx = jnp.arange(64.0)")
    sizes = []
    for i in range({count} + 1):
        run(made, {cell!r}.format(i=i))
        if i % max(1, {count} // 20) == 0:
            sizes.append(resident())
print(json.dumps(sizes))
"""
SIDES = {
    "jaxscope": "%%jaxjit -q -n 1\ny = jnp.sin(x * {i}.5) + x",
    "plain JAX": "y = jax.jit(lambda x: jnp.sin(x * {i}.5) + x)(x)",
}


def measure(count: int = CELLS) -> dict[str, Any]:
    sizes = {side: _process(cell, count) for side, cell in SIDES.items()}
    grown = {side: found[-1] - found[0] for side, found in sizes.items()}
    return {
        "cells": count,
        "growth": {f"{side}_bytes": number for side, number in grown.items()},
        "beyond plain JAX": within_bytes(grown["jaxscope"] - grown["plain JAX"], BUDGET),
        "samples": sizes,
    }


def _process(cell: str, count: int) -> list[int]:
    """Resident bytes along the way, 21 of them."""
    code = _CODE.format(count=count, cell=cell)
    return printed(code)


if __name__ == "__main__":
    json.dump(measure(*map(int, sys.argv[1:])), sys.stdout, indent=1)
