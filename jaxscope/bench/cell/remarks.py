"""What there is to say of a benchmark's code before it runs."""

from __future__ import annotations

import types
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from jaxscope.bench.cell.arrays import holds_arrays, is_random_key
from jaxscope.bench.cell.framework import framework
from jaxscope.bench.cell.sections import SHARED
from jaxscope.bench.cell.timed_function import USUAL


def remarks(
    constants: Collection[str], shared: Sequence[Collection[str]], names: Mapping[str, Any]
) -> tuple[str, ...]:
    """Sentences on names that are read and are no inputs, and on sources for all without `xp`.

    `shared` are the names that each source for all reads.
    """
    return (*_constants(constants, names), *_without_xp(shared, names))


def _constants(constants: Collection[str], names: Mapping[str, Any]) -> Iterator[str]:
    for name in sorted(constants):
        value = names.get(name)
        if name.startswith("_"):
            continue
        if holds_arrays(value):
            yield (
                f"`{name}` holds arrays inside a container: every contestant gets it as it is, and "
                "a compiler takes it as a constant. Give its arrays names of their own."
            )
        elif is_random_key(value):
            yield (
                f"`{name}` is a typed random key, which only JAX can be given, so it is a constant "
                f"to its compiler; `{name} = jax.random.PRNGKey(0)` is an array and goes in as an "
                "input."
            )


def _without_xp(shared: Sequence[Collection[str]], names: Mapping[str, Any]) -> Iterator[str]:
    for reads in shared:
        used = [name for name in reads if _is_framework(name, names)]
        if used and SHARED not in reads:
            yield (
                f"The source for all contestants calls `{used[0]}` and not `xp`, so it is the same "
                "framework's code for everyone. Write `xp`, or give each contestant a section."
            )


def _is_framework(name: str, names: Mapping[str, Any]) -> bool:
    if name not in names:
        return name in USUAL
    return isinstance(names[name], types.ModuleType) and framework(names[name]) is not None
