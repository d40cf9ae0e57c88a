"""Other holders of a donated array, which would be left with a deleted one."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from types import FunctionType
from typing import Any

import jax

from jaxscope.capture.inputs import pytrees
from jaxscope.capture.inputs.mutation import is_users_module
from jaxscope.capture.options.refusals import RefusedError, shared_donation


def refused_donation(
    donated: Mapping[int, str], namespace: Mapping[str, Any], given: Collection[str]
) -> RefusedError | None:
    """The refusal of a donation that deletes an array which another name holds too.

    `donated` are the paths of the arrays, by identity. One of the names `given` is that of the
    donated input.
    """
    if not donated:
        return None
    own: set[int] = set()
    roots = {re.split(r"[.\[]", path)[0] for path in donated.values()}
    # Those come first, so that the first of them is not taken for another holder.
    for name in sorted(namespace, key=lambda name: (name not in given, name not in roots)):
        # IPython's history (`_`, `_3`, `Out`) holds what was shown.
        if name.startswith("_") or name in ("In", "Out"):
            continue
        held = {id(leaf) for leaf in _leaves(namespace[name], set())} & donated.keys()
        other = held & own if name in given else held
        own |= held if name in given else set()
        if other:
            return shared_donation(donated[min(other)], name)
    return None


def is_shared(name: str, namespace: Mapping[str, Any], least: int) -> bool:
    """Whether another holder has an array of this name, whose arrays have `least` bytes."""
    try:
        arrays = [one for one in pytrees.leaves_of(namespace[name]) if isinstance(one, jax.Array)]
        if sum(one.nbytes for one in arrays) < least:
            return False
    except Exception:  # keys that cannot be sorted, or an array that was deleted
        return False
    donated = {id(one): name for one in arrays}
    return refused_donation(donated, namespace, [name]) is not None


def _leaves(value: Any, seen: set[int]) -> Iterator[Any]:
    """The leaves of a value: of its containers, of the user's objects, and of closures."""
    if id(value) in seen:
        return
    seen.add(id(value))
    try:
        leaves = pytrees.leaves_of(value)
    except Exception:  # keys that cannot be sorted
        return
    for leaf in leaves:
        yield leaf
        for item in _inside(leaf):
            yield from _leaves(item, seen)


def _inside(leaf: Any) -> Iterable[Any]:
    """The values that a function, a `partial` or an object of the user's holds."""
    if isinstance(leaf, FunctionType):
        cells = [cell.cell_contents for cell in leaf.__closure__ or () if _is_filled(cell)]
        return (*cells, *(leaf.__defaults__ or ()), *(leaf.__kwdefaults__ or {}).values())
    if isinstance(leaf, partial):
        return (leaf.func, *leaf.args, *leaf.keywords.values())
    if is_users_module(type(leaf).__module__):
        return getattr(leaf, "__dict__", {}).values()
    return ()


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False
