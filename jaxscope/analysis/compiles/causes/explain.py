"""Explain a compilation by its smallest difference to an earlier one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from jaxscope.analysis.compiles.causes import difference as diff
from jaxscope.analysis.compiles.causes.arguments import arguments
from jaxscope.analysis.compiles.causes.difference import Difference
from jaxscope.analysis.compiles.causes.eager import bodies, eagerly
from jaxscope.analysis.compiles.causes.first_call import unknown
from jaxscope.analysis.compiles.causes.settings import (
    context,
    functions,
    options,
    without_consequences,
)
from jaxscope.analysis.compiles.causes.signature import CallSignature
from jaxscope.analysis.compiles.causes.text import worded
from jaxscope.model import Cause

NEAREST_OF = 64
"""Earlier compilations that a new one is compared with: 30 µs each for a handful of arguments."""


@dataclass(frozen=True, slots=True)
class EarlierCompile:
    """A program that was compiled before."""

    serial: int
    signature: CallSignature
    elsewhere: bool = False
    """Called from a different line than the new one."""
    dead: bool = False
    """Python had collected its function when the new one was compiled."""


@dataclass(frozen=True, slots=True)
class Explained:
    """The causes, and the serial of the compilation that they compare with."""

    causes: tuple[Cause, ...]
    nearest: int | None = None


def explain(signature: CallSignature, earlier: Sequence[EarlierCompile]) -> Explained:
    """The causes of a compilation after these: newest last, all of one function.

    Distances add up: a call that differs in one shape is nearer than one that differs in a setting
    and a shape. Of equally near ones the newest wins.
    """
    if not earlier:
        return Explained(())
    earlier = earlier[-NEAREST_OF:]
    if not all(known.complete for known in (signature, *[one.signature for one in earlier])):
        why = "this version of JAX does not show all of the call"
        return Explained((unknown(signature.function.name, why),))
    pairs = [(one, list(_differences(one, signature))) for one in reversed(earlier)]
    one, found = min(pairs, key=lambda pair: sum(d.distance for d in pair[1]))
    found = diff.merged(without_consequences(found))
    if signature.eager:
        found = eagerly(found, signature)
    elif "vmap" in signature.transform:
        found = [_batched(d) for d in found]
    if not found and signature.function.cell_id:
        found = [diff.Redefinition("", code="same", of_cell=True)]
    if not found:
        found = [diff.ClearedCache(signature.function.name)]
    causes = [worded(d, signature, one.serial) for d in found]
    if any(isinstance(d, diff.Redefinition) and d.code == "edited" for d in found):
        # New code must be compiled, however it is called: the other causes need no fix.
        causes = [replace(cause, fix="") for cause in causes]
    return Explained(tuple(causes), one.serial)


def _differences(one: EarlierCompile, now: CallSignature) -> Iterator[Difference]:
    """All differences, unordered."""
    before = one.signature
    yield from functions(before.function, now.function, elsewhere=one.elsewhere, dead=one.dead)
    yield from bodies(before, now)
    yield from arguments(before, now)
    yield from options(before, now)
    yield from context(before, now)


def _batched(found: Difference) -> Difference:
    """Under vmap, the first axis that changed is taken for the batch."""
    if not isinstance(found, diff.ShapeChange) or len(found.axes) > 1:
        return found
    return diff.BatchSizeChange(found.path, found.before, found.after, found.others)
