"""Reasons for all pairs of instructions that XLA did not fuse, of ten programs.

Each pair of producer and consumer that its fusion pass left apart must have a reason in XLA's log.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

import jaxscope
from jaxscope.analysis.passes.remarks import REASONS
from jaxscope.results.remarks import Remarks
from measurements.programs_plain import PROGRAMS

NUMBER = 10


def measure() -> dict[str, Any]:
    """Pairs and pairs with a reason, of the first ten programs that have pairs."""
    each: dict[str, dict[str, Any]] = {}
    for name, (function, shapes) in PROGRAMS.items():
        keys = jax.random.split(jax.random.key(0), len(shapes))
        arrays = [jax.random.uniform(k, s) for k, s in zip(keys, shapes, strict=True)]
        found = remarks(function, arrays)
        if isinstance(found, Remarks) and len(found):
            each[name] = {
                "pairs": len(found),
                "with a reason": sum(bool(one.xla) for one in found),
                "in our words": sum(one.xla in REASONS for one in found),
            }
        if len(each) == NUMBER:
            break
    pairs = sum(row["pairs"] for row in each.values())
    known = sum(row["with a reason"] for row in each.values())
    return {
        "pairs with a reason": {
            "programs": len(each),
            "pairs": pairs,
            "resolved": known,
            "ok": len(each) == NUMBER and known == pairs,
        },
        "each": each,
    }


def remarks(function: Callable[..., Any], arrays: list[jax.Array]) -> object:
    """The remarks of one program, or the reason why it has none."""
    with jaxscope.options(runs=0):
        return jaxscope.inspect(function, *map(jnp.asarray, arrays)).remarks()


if __name__ == "__main__":
    print(json.dumps(measure()))
