"""Operations outside any jit: each is compiled by itself for every shape and every setting."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jaxscope.analysis.compiles.causes import difference as diff
from jaxscope.analysis.compiles.causes.difference import Difference
from jaxscope.analysis.compiles.causes.settings import at
from jaxscope.analysis.compiles.causes.signature import CallSignature

_MOST_SHOWN = 3  # differences of one operation
_PLACE = re.compile(r" at ([^,\n]+?):(\d+)")
_ARGUMENTS = (
    diff.ShapeChange,
    diff.RankChange,
    diff.DtypeChange,
    diff.WeakTypeChange,
    diff.ScalarTypeChange,
    diff.StructureChange,
    diff.StaticValueChange,
    diff.StaticIdentityChange,
    diff.CallStyleChange,
    diff.Redefinition,
    diff.NewFunction,
    diff.CollectedFunction,
    diff.ClosureChange,
)
"""Differences that are one to the user: the arguments of the operation changed."""


def bodies(a: CallSignature, b: CallSignature) -> Iterator[Difference]:
    """New body functions of an eager `scan`, `cond` or `while_loop`."""
    old = {body.name: body for body in a.bodies}
    for now in b.bodies:
        before = old.get(now.name)
        if before is None or before.jaxpr_id != now.jaxpr_id:
            was = before.function if before is not None else "none"
            yield diff.EagerBodyChange(now.name, _short(was), _short(now.function))


def _short(text: str) -> str:
    return _PLACE.sub(lambda found: f" at {at(found[1], int(found[2]))}", text)


def eagerly(found: list[Difference], signature: CallSignature) -> list[Difference]:
    """Differences of an eager operation, with those of its arguments as one difference."""
    body = next((d for d in found if isinstance(d, diff.EagerBodyChange)), None)
    if body is not None:
        # The body's own constants and settings change with it.
        implied = (diff.EagerBodyChange, diff.StaticValueChange, diff.ClosureChange)
        return [body, *[d for d in found if not isinstance(d, implied)]]
    given = [d for d in found if isinstance(d, _ARGUMENTS)]
    if not given:
        return found
    shown = given[:_MOST_SHOWN]
    # A primitive has no names for its arguments, unlike a function of `jax.numpy`.
    named = bool(signature.function.file)
    names = tuple([d.path for d in shown if named or isinstance(d, diff.StaticValueChange)])
    one = diff.EagerArgumentsChange(
        names[0] if names else signature.function.name,
        ", ".join(d.before for d in shown),
        ", ".join(d.after for d in shown),
        names=names,
    )
    return [one, *[d for d in found if d not in given]]
