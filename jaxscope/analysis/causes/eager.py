"""Operations outside any jit: each is compiled by itself for every shape and every setting."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jaxscope.analysis.causes.difference import Difference
from jaxscope.analysis.causes.signature import Signature
from jaxscope.analysis.causes.surroundings import at
from jaxscope.model import CauseKind

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
    # Operations have no names for their arguments that a user knows.
    named = not signature.function.name.startswith("_") and bool(signature.function.file)
    before, after = ", ".join(_side(given, 0, named)), ", ".join(_side(given, 1, named))
    one = Difference(CauseKind.EAGER_SHAPE, signature.function.name, before, after)
    return [one, *[d for d in found if d.kind not in _ARGUMENTS]]


def _one(found: list[Difference], kind: CauseKind) -> list[Difference]:
    first = next(d for d in found if d.kind is kind)
    return [first, *[d for d in found if d.kind is not kind]]


def _side(given: list[Difference], side: int, named: bool) -> list[str]:
    texts: list[str] = []
    for found in given[:3]:
        value = (found.before, found.after)[side]
        show = named or found.kind is CauseKind.STATIC_VALUE
        texts.append(f"{found.path} {value}" if show and side == 0 else value)
    return texts
