"""One thing in which two calls differ, before it is put into words."""

from __future__ import annotations

from dataclasses import dataclass

from jaxscope.model import CauseKind


@dataclass(frozen=True, slots=True)
class Difference:
    """`path` went from `before` to `after`."""

    kind: CauseKind
    path: str
    before: str
    after: str
    detail: str = ""
    """What the wording needs besides: `default`, `keyword`, a dtype to cast to."""
    others: int = 0
    """How many further paths differ in the same way."""
    atoms: int = 1
    """How much changed: the nearest call is the one with the fewest."""


ORDER = {
    kind: position
    for position, kind in enumerate(
        (
            CauseKind.NEW_FUNCTION,
            CauseKind.REDEFINED,
            CauseKind.FUNCTION_COLLECTED,
            CauseKind.CLOSURE,
            CauseKind.CONTEXT,
            CauseKind.CALL_STYLE,
            CauseKind.STATIC_IDENTITY,
            CauseKind.STATIC_VALUE,
            CauseKind.STRUCTURE,
            CauseKind.EAGER_BODY,
            CauseKind.EAGER_SHAPE,
            CauseKind.VMAP_SIZE,
            CauseKind.RANK,
            CauseKind.SHAPE,
            CauseKind.VALUE_KIND,
            CauseKind.DTYPE,
            CauseKind.WEAK_TYPE,
            CauseKind.SHARDING,
            CauseKind.DEVICE,
            CauseKind.COMMITTED,
            CauseKind.LAYOUT,
            CauseKind.DONATION,
            CauseKind.JIT_OPTION,
            CauseKind.COMPILER_OPTION,
        )
    )
}
"""What is said first: what makes the rest a consequence, then what people can change."""


def merged(differences: list[Difference]) -> list[Difference]:
    """The differences in the order in which they are said; many alike become one with a count.

    Alike are those of one kind that go from the same to the same: 400 leaves of a model that were
    all committed are one cause.
    """
    first: dict[tuple[CauseKind, str, str, str], Difference] = {}
    count: dict[tuple[CauseKind, str, str, str], int] = {}
    for found in differences:
        key = (found.kind, found.before, found.after, found.detail)
        first.setdefault(key, found)
        count[key] = count.get(key, 0) + 1
    result = [
        Difference(d.kind, d.path, d.before, d.after, d.detail, count[key] - 1, d.atoms)
        for key, d in first.items()
    ]
    return sorted(result, key=lambda d: ORDER.get(d.kind, len(ORDER)))
