"""Explain a compilation by its smallest difference to an earlier one."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from jaxscope.analysis.compiles.causes import difference as diff
from jaxscope.analysis.compiles.causes import settings
from jaxscope.analysis.compiles.causes.arguments import arguments
from jaxscope.analysis.compiles.causes.constants import constants, unread, without_moved
from jaxscope.analysis.compiles.causes.difference import Difference
from jaxscope.analysis.compiles.causes.no_difference import linked_again, unknown
from jaxscope.analysis.compiles.causes.parts import unread as unread_parts
from jaxscope.analysis.compiles.causes.signature import CallSignature, ControlFlowBody, PartKind
from jaxscope.analysis.compiles.causes.text import worded
from jaxscope.model import Cause, CauseKind

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
    distance: int = 0
    """The size of all differences to that one."""


_Pair = tuple[EarlierCompile, list[Difference]]


def explain(
    signature: CallSignature, earlier: Sequence[EarlierCompile], *, ordered: bool = True
) -> Explained:
    """The causes of a compilation after these: newest last, all of one function.

    Distances add up: a call that differs in one shape is nearer than one that differs in a setting
    and a shape. Of equally near ones the newest wins, or all count where their order is unknown.
    """
    if not earlier:
        return Explained(())
    earlier = earlier[-NEAREST_OF:]
    if not all(known.complete for known in (signature, *[one.signature for one in earlier])):
        why = "this version of JAX does not show all of the call"
        return Explained((unknown(signature.function.name, why),))
    pairs = [(one, list(_differences(one, signature))) for one in reversed(earlier)]
    distances = [sum(d.distance for d in found) for _, found in pairs]
    nearest = [pair for pair, far in zip(pairs, distances, strict=True) if far == min(distances)]
    nearest = _with_its_values(nearest)
    if ordered:
        explained = _explained(signature, *nearest[0])
    else:
        explained = _of_any([_explained(signature, *pair) for pair in nearest])
    return replace(explained, distance=min(distances))


def _with_its_values(tied: Sequence[_Pair]) -> Sequence[_Pair]:
    """Without those of another value of a static argument that one call has, passed otherwise."""
    had = {d.path for _, found in tied for d in found if d.kind is CauseKind.CALL_STYLE}
    kinds = (CauseKind.STATIC_VALUE, CauseKind.STATIC_IDENTITY)
    return [
        pair for pair in tied if not any(d.kind in kinds and d.path in had for d in pair[1])
    ] or tied


def _of_any(tied: Sequence[Explained]) -> Explained:
    """The causes beside one of these calls; each value that may have been before is named."""
    first = min(tied, key=lambda one: [cause.text for cause in one.causes])
    same = [one.causes for one in tied if _changed(one) == _changed(first)]
    causes = [
        _before_any(cause, {other.before for other in others})
        for cause, *others in zip(first.causes, *same, strict=True)
    ]
    return Explained(tuple(causes), first.nearest)


def _changed(explained: Explained) -> list[tuple[CauseKind, str, str]]:
    return [(cause.kind, cause.path, cause.after) for cause in explained.causes]


def _before_any(cause: Cause, values: set[str]) -> Cause:
    change = f"{cause.before} → {cause.after}"
    if len(values) == 1 or change not in cause.text:
        return cause
    known = sorted(values, key=lambda value: (len(value), value))
    named = known if len(known) <= _MOST_SHOWN else [*known[: _MOST_SHOWN - 1], "others"]
    before = f"{', '.join(named[:-1])} or {named[-1]}"
    text = cause.text.replace(change, f"{before} → {cause.after}")
    return replace(cause, before=before, text=text)


def _explained(signature: CallSignature, one: EarlierCompile, found: list[Difference]) -> Explained:
    found = diff.set_apart(diff.merged(settings.without_consequences(found)))
    if signature.eager:
        found = _eagerly(found, signature)
    elif "vmap" in signature.transform.partition("jacobian")[0]:  # that has one of its own
        # The first axis that changed is taken for the batch.
        found = [
            diff.PlainChange(d.path, d.before, d.after, d.others, kind=CauseKind.VMAP_SIZE)
            if isinstance(d, diff.ShapeChange) and len(d.axes) == 1
            else d
            for d in found
        ]
    if not found and not _all_read(signature):
        why = "a static value is too large for jaxscope to compare all of it"
        return Explained((unknown(signature.function.name, why),), one.serial)
    if not found and not signature.function.reusable:
        return Explained((linked_again(signature.function.called),), one.serial)
    if not found and signature.function.cell_id:
        was, now = one.signature.function.captured, signature.function.captured
        names = [{value.name for value in captured} for captured in (was, now)]
        known = names[0] == names[1] and not any(map(unread, (*was, *now)))
        found = [diff.Redefinition("", code="same", of_cell=True, known=known)]
    if not found and signature.transform:
        part = (
            "the axis of the batch" if "vmap" in signature.transform else "what it differentiates"
        )
        why = f"JAX does not show what {signature.transform} changed, such as {part}"
        return Explained((unknown(signature.function.name, why),), one.serial)
    if not found and signature.uncached:
        found = [diff.PlainChange(settings.LEAKS, kind=CauseKind.CONTEXT)]
    if not found:
        found = [diff.PlainChange(signature.function.name, kind=CauseKind.CACHE_CLEARED)]
    edited = [d for d in found if isinstance(d, diff.Redefinition) and d.code == "edited"]
    # New code must be compiled, however it is called.
    causes = [worded(d, signature) for d in edited or found]
    return Explained(tuple(causes), one.serial)


def _all_read(call: CallSignature) -> bool:
    """Whether equal signatures prove equal calls."""
    static = [one.parts for one in call.statics if not one.identity]
    return not any(
        unread_parts(one) for one in [*static, *[a.structure.parts for a in call.arguments]]
    )


def _differences(one: EarlierCompile, now: CallSignature) -> Iterator[Difference]:
    before = one.signature
    passed = {x.name for call in (before, now) for x in (*call.arguments, *call.statics)}
    for found in settings.functions(
        before.function, now.function, elsewhere=one.elsewhere, dead=one.dead
    ):
        # The default value of a parameter that is passed is in no program.
        if found.kind is not CauseKind.CLOSURE or diff.root(found.path) not in passed:
            yield found
    yield from _bodies(before, now)
    if now.function.cell_id:
        yield from constants(before, now)
        yield from arguments(without_moved(before, now), without_moved(now, before))
    else:
        yield from arguments(before, now)
    yield from settings.options(before, now)
    yield from settings.context(before, now)


_MOST_SHOWN = 3  # differences of one operation
_PLACE = re.compile(r" at ([^,\n]+?):(\d+)")
_ARGUMENTS = frozenset({
    CauseKind.SHAPE, CauseKind.RANK, CauseKind.DTYPE, CauseKind.WEAK_TYPE, CauseKind.VALUE_KIND,
    CauseKind.STRUCTURE, CauseKind.STATIC_VALUE, CauseKind.STATIC_IDENTITY, CauseKind.CALL_STYLE,
    CauseKind.REDEFINED, CauseKind.NEW_FUNCTION, CauseKind.FUNCTION_COLLECTED, CauseKind.CLOSURE,
})  # fmt: skip
"""Differences that are one to the user: the arguments of the operation changed."""


def _bodies(a: CallSignature, b: CallSignature) -> Iterator[Difference]:
    """New body functions of an eager `scan`, `cond` or `while_loop`."""
    old = {body.name: body for body in a.bodies}
    for now in b.bodies:
        before = old.get(now.name)
        if before is None or not _is_same(before, now):
            was = before.function if before is not None else "none"
            texts = _short(was), _short(now.function if now.own else "")
            yield diff.PlainChange(now.name, *texts, kind=CauseKind.EAGER_BODY)


def _is_same(before: ControlFlowBody, now: ControlFlowBody) -> bool:
    """Whether it is the same function: other arguments give it another jaxpr."""
    known = now.function_id and before.function_id
    return known == now.function_id if known else before.jaxpr_id == now.jaxpr_id


def _short(text: str) -> str:
    return _PLACE.sub(lambda found: f" at {settings.at(found[1], int(found[2]))}", text)


def _is_function(d: Difference) -> bool:
    """Whether it is another function, passed to one of JAX's own, such as a solver."""
    return d.kind is CauseKind.STATIC_IDENTITY and d.type == PartKind.FUNCTION


def _eagerly(found: list[Difference], signature: CallSignature) -> list[Difference]:
    """Differences of an eager operation, with those of its arguments as one difference."""
    bodies = [d for d in found if d.kind is CauseKind.EAGER_BODY or _is_function(d)]
    new: list[Difference] = []
    if bodies:
        was, now = (
            ", ".join(dict.fromkeys(texts))
            for texts in ([d.before for d in bodies], [d.after for d in bodies])
        )
        new = [diff.PlainChange(bodies[0].path, was, now, kind=CauseKind.EAGER_BODY)]
        if was != now:  # a different loop, which was not called with other arguments
            return new
        # The body's own constants change with it.
        implied = (CauseKind.STATIC_VALUE, CauseKind.STATIC_IDENTITY, CauseKind.CLOSURE)
        found = [d for d in found if d not in bodies and d.kind not in implied]
    given = [d for d in found if d.kind in _ARGUMENTS]
    if not given:
        return [*new, *found]
    shown = given[:_MOST_SHOWN]
    # A primitive has no names for its arguments, unlike a function of `jax.numpy`.
    named = bool(signature.function.file)
    names = tuple([d.path for d in shown if named or d.kind is CauseKind.STATIC_VALUE])
    one = diff.EagerArgumentsChange(
        names[0] if names else signature.function.name,
        ", ".join(d.before for d in shown),
        ", ".join(d.after for d in shown),
        names=names,
    )
    return [*new, one, *[d for d in found if d not in given]]
