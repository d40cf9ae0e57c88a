"""Reasons for all pairs of instructions that XLA did not fuse, of ten programs.

Each pair of producer and consumer that its fusion pass left apart must have a reason in XLA's log.
Pairs that cannot be fused because of what they are must be those for which the log says so: only
others are named as costly. Planted loops that stay apart must be named, and
near misses must not.
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
OF_LOOPS = frozenset({
    "expensive producer would be duplicated",
    "Code duplication too high",
    "Too many reductions inside single fusion.",
})  # fmt: skip
"""Reasons that XLA has for two loops only."""
OF_OTHERS = frozenset({
    "Producer is not loop-fusible.",
    "Not fusing: not found a fusible case",
    "Don't fuse instructions from custom fusions/calls",
})  # fmt: skip
"""Reasons where one side is no loop."""


def _two(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def both(x: Any) -> Any:
        value = function(x)
        return jnp.sort(value * 2, 0), value.T @ value

    return both


def _shared(x: Any) -> Any:
    return jnp.sort(x * 2, 0), x.T @ x


PLANTED: dict[str, tuple[Callable[[Any], Any], int, bool]] = {
    **{
        name: (_two(function), 160, True)
        for name, function in {
            "tanh": jnp.tanh,
            "exponential": jnp.exp,
            "power": lambda x: x**1.5,
            "logarithm": lambda x: jnp.log(x + 2),
            "error function": jax.scipy.special.erf,
            "arctangent": lambda x: jnp.arctan2(x, x + 1),
        }.items()
    },
    "computed twice": (_two(jnp.sin), 160, False),
    "a small value": (_two(jnp.tanh), 100, False),
    "an argument": (_shared, 160, False),
    "one loop": (lambda x: jnp.tanh(jnp.sin(x) * 2), 160, False),
    "a product": (lambda x: jnp.tanh(x @ x), 160, False),
    "a sort": (lambda x: jnp.tanh(jnp.sort(x, 0)), 160, False),
    "a small share": (lambda x: (_two(jnp.tanh)(x), jnp.ones((3000, 3000)) * x[0, 0]), 160, False),
}
"""Function, size, and whether loops are apart for more than 5 % of the bytes."""


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
                "against the log": sum(
                    one.xla in (OF_OTHERS if one.fusible else OF_LOOPS) for one in found
                ),
                "no loops": sum(not one.fusible for one in found),
            }
        if len(each) == NUMBER:
            break
    pairs = sum(row["pairs"] for row in each.values())
    known = sum(row["with a reason"] for row in each.values())
    named = {name: bool(_costly(*planted[:2])) for name, planted in PLANTED.items()}
    wrong = [name for name, planted in PLANTED.items() if named[name] is not planted[2]]
    against = sum(row["against the log"] for row in each.values())
    return {
        "loops apart": {"planted": len(PLANTED), "wrong": wrong, "ok": not wrong},
        "loops by XLA's words": {
            "pairs": pairs,
            "no loops": sum(row["no loops"] for row in each.values()),
            "against the log": against,
            "ok": not against,
        },
        "pairs with a reason": {
            "programs": len(each),
            "pairs": pairs,
            "resolved": known,
            "ok": len(each) == NUMBER and known == pairs,
        },
        "each": each,
    }


def _costly(function: Callable[[Any], Any], size: int) -> tuple[object, ...]:
    found = remarks(function, [jax.random.uniform(jax.random.key(0), (size, size))])
    return found.costly() if isinstance(found, Remarks) else ()


def remarks(function: Callable[..., Any], arrays: list[jax.Array]) -> object:
    """The remarks of one program, or the reason why it has none."""
    with jaxscope.options(runs=0):
        return jaxscope.inspect(function, *map(jnp.asarray, arrays)).remarks()


if __name__ == "__main__":
    print(json.dumps(measure()))
