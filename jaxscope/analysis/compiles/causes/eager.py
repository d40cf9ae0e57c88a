"""Operations outside any jit: each is compiled by itself for every shape and every setting."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jaxscope.analysis.compiles.causes.difference import Difference
from jaxscope.analysis.compiles.causes.settings import at
from jaxscope.analysis.compiles.causes.signature import Signature
from jaxscope.model import CauseKind

_TOLD = 3  # differences of one operation that are told
_PLACE = re.compile(r" at ([^,\n]+?):(\d+)")
_ARGUMENTS = frozenset(
    {
        CauseKind.SHAPE,
        CauseKind.RANK,
        CauseKind.DTYPE,
        CauseKind.WEAK_TYPE,
        CauseKind.VALUE_KIND,
        CauseKind.STRUCTURE,
        CauseKind.STATIC_VALUE,
        CauseKind.STATIC_IDENTITY,
        CauseKind.CALL_STYLE,
        CauseKind.REDEFINED,
        CauseKind.NEW_FUNCTION,
        CauseKind.FUNCTION_COLLECTED,
        CauseKind.CLOSURE,
    }
)
"""Differences that are one to the user: the operation was given something else."""


def bodies(a: Signature, b: Signature) -> Iterator[Difference]:
    """Functions that an eager `scan`, `cond` or `while_loop` was given anew."""
    old = {body.name: body for body in a.bodies}
    for now in b.bodies:
        before = old.get(now.name)
        if before is None or before.serial != now.serial:
            was = before.function if before is not None else "none"
            yield Difference(CauseKind.EAGER_BODY, now.name, _short(was), _short(now.function))


def _short(text: str) -> str:
    return _PLACE.sub(lambda found: f" at {at(found[1], int(found[2]))}", text)


def eagerly(found: list[Difference], signature: Signature) -> list[Difference]:
    """Differences of an eager operation, with what it was given as one difference."""
    if any(d.kind is CauseKind.EAGER_BODY for d in found):
        # The body's own constants and settings change with it.
        found = [d for d in found if d.kind not in (CauseKind.STATIC_VALUE, CauseKind.CLOSURE)]
        return _one(found, CauseKind.EAGER_BODY)
    given = [d for d in found if d.kind in _ARGUMENTS]
    if not given:
        return found
    told = given[:_TOLD]
    before, after = ", ".join(d.before for d in told), ", ".join(d.after for d in told)
    # An operation that is no function of `jax.numpy` has no names for its arguments.
    bare = not signature.function.file
    names = [d.path for d in told if not bare or d.kind is CauseKind.STATIC_VALUE]
    path = names[0] if names else signature.function.name
    one = Difference(CauseKind.EAGER_SHAPE, path, before, after, ", ".join(names))
    return [one, *[d for d in found if d.kind not in _ARGUMENTS]]


def _one(found: list[Difference], kind: CauseKind) -> list[Difference]:
    first = next(d for d in found if d.kind is kind)
    return [first, *[d for d in found if d.kind is not kind]]
