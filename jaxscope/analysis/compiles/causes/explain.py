"""Why a call needed a new program: the smallest difference to what was compiled before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from jaxscope.analysis.compiles.causes.arguments import arguments
from jaxscope.analysis.compiles.causes.difference import Difference, merged
from jaxscope.analysis.compiles.causes.eager import bodies, eagerly
from jaxscope.analysis.compiles.causes.settings import (
    context,
    functions,
    options,
    without_consequences,
)
from jaxscope.analysis.compiles.causes.signature import Signature
from jaxscope.analysis.compiles.causes.text import worded
from jaxscope.model import Cause, CauseKind

NEAREST_OF = 64
"""Earlier compiles that a new one is compared with: 30 µs each for a handful of arguments."""


@dataclass(frozen=True, slots=True)
class Earlier:
    """A program that was compiled before."""

    serial: int
    signature: Signature
    elsewhere: bool = False
    """Called from another line than the new one."""
    dead: bool = False
    """Python had collected its function when the new one was compiled."""


@dataclass(frozen=True, slots=True)
class Explained:
    """The causes, and the serial of the compile that they compare with."""

    causes: tuple[Cause, ...]
    nearest: int | None = None


def explain(signature: Signature, earlier: Sequence[Earlier]) -> Explained:
    """The causes of a compile that had these before it: newest last, all of one function.

    Distances add up: a call that differs in one shape is nearer than one that differs in a setting
    and a shape. Of equally near ones the newest wins.
    """
    best: tuple[int, Earlier, list[Difference]] | None = None
    for one in reversed(earlier[-NEAREST_OF:]):
        found = list(differences(one, signature))
        atoms = sum(d.atoms for d in found)
        if best is None or atoms < best[0]:
            best = (atoms, one, found)
    if best is None:
        return Explained(())
    _, one, found = best
    found = merged(without_consequences(found))
    if signature.eager:
        found = eagerly(found, signature)
    elif "vmap" in signature.transform:
        found = [_batched(d) for d in found]
    if not found and signature.function.origin:
        found = [Difference(CauseKind.REDEFINED, "", "", "", "inside")]
    if not found:
        found = [Difference(CauseKind.CACHE_CLEARED, signature.function.name, "", "")]
    causes = [worded(d, signature, one.serial) for d in found]
    if any(d.kind is CauseKind.REDEFINED and d.detail in ("edited", "cell") for d in found):
        # New code must be compiled, however it is called: what else differs is told, not mended.
        causes = [replace(cause, fix="") for cause in causes]
    return Explained(tuple(causes), one.serial)


def differences(one: Earlier, now: Signature) -> Iterator[Difference]:
    """All that differs, unordered."""
    before = one.signature
    yield from functions(before.function, now.function, elsewhere=one.elsewhere, dead=one.dead)
    yield from bodies(before, now)
    yield from arguments(before, now)
    yield from options(before, now)
    yield from context(before, now)


def _batched(found: Difference) -> Difference:
    """Under vmap the first axis that changed is, as far as anyone can tell, the batch."""
    if found.kind is not CauseKind.SHAPE or "," in found.detail:
        return found
    return Difference(
        CauseKind.VMAP_SIZE,
        found.path,
        found.before,
        found.after,
        found.detail,
        found.others,
        found.atoms,
    )
