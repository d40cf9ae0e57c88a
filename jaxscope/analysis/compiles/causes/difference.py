"""Differences between two calls: one class per kind of cause, with the fields of its sentence.

To add a cause: a member of `CauseKind`, a class here that joins `Difference`, and its sentence in
`text.py`, which does not type-check without it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from jaxscope.model import CauseKind


@dataclass(frozen=True, slots=True)
class _Changed:
    """`path` went from `before` to `after`."""

    kind: ClassVar[CauseKind]
    path: str
    before: str = ""
    after: str = ""
    others: int = 0
    """Number of further paths that differ in the same way."""

    @property
    def distance(self) -> int:
        """The size of the change: the nearest call has the smallest sum."""
        return 1


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFunction(_Changed):
    """The same code in a new function object; `after` is where it is defined."""

    kind = CauseKind.NEW_FUNCTION
    wrappers: tuple[str, ...] = ()


class CollectedFunction(_Changed):
    """Python had collected the earlier function; `after` is where the new one is defined."""

    kind = CauseKind.FUNCTION_COLLECTED


@dataclass(frozen=True, slots=True, kw_only=True)
class Redefinition(_Changed):
    """A function, or the cell that is the program, was defined again; `after` is where."""

    kind = CauseKind.REDEFINED
    code: Literal["same", "edited"]
    """Whether its text changed too: new code has to be compiled."""
    of_cell: bool = False


class ClosureChange(_Changed):
    """A captured value."""

    kind = CauseKind.CLOSURE


class ContextChange(_Changed):
    """A setting of the trace context; `path` is its name."""

    kind = CauseKind.CONTEXT


class CallStyleChange(_Changed):
    """By position, by keyword, or left out."""

    kind = CauseKind.CALL_STYLE


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticIdentityChange(_Changed):
    """A static argument that is compared by identity."""

    kind = CauseKind.STATIC_IDENTITY
    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticValueChange(_Changed):
    """A static argument, or a constant of a cell that is one program."""

    kind = CauseKind.STATIC_VALUE
    of_cell: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StructureChange(_Changed):
    """The pytree structure of one argument, or which arguments there are."""

    kind = CauseKind.STRUCTURE
    change: Literal["added", "removed", "argument", "container"]
    """Leaves only added, only removed, an argument passed or left out, or a different container."""
    leaves: int = 0
    """Number of leaves that were added or removed."""

    @property
    def distance(self) -> int:
        return 2 + self.leaves


class EagerBodyChange(_Changed):
    """A body of eager control flow; `after` is the function and where it is defined."""

    kind = CauseKind.EAGER_BODY


@dataclass(frozen=True, slots=True, kw_only=True)
class EagerArgumentsChange(_Changed):
    """All that changed in the arguments of an eager operation."""

    kind = CauseKind.EAGER_SHAPE
    names: tuple[str, ...] = ()
    """Of the arguments, where the operation names them."""


class BatchSizeChange(_Changed):
    """The first axis that changed, under `vmap`."""

    kind = CauseKind.VMAP_SIZE


class RankChange(_Changed):
    kind = CauseKind.RANK

    @property
    def distance(self) -> int:
        return 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeChange(_Changed):
    kind = CauseKind.SHAPE
    axes: tuple[int, ...]

    @property
    def distance(self) -> int:
        return len(self.axes)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalarTypeChange(_Changed):
    """From one Python scalar type to another."""

    kind = CauseKind.VALUE_KIND
    dtypes: tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class DtypeChange(_Changed):
    kind = CauseKind.DTYPE
    cast: str
    """The dtype to convert to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WeakTypeChange(_Changed):
    kind = CauseKind.WEAK_TYPE
    dtype: str


class ShardingChange(_Changed):
    kind = CauseKind.SHARDING


class DeviceChange(_Changed):
    kind = CauseKind.DEVICE


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitChange(_Changed):
    """Committed to devices, or not any more."""

    kind = CauseKind.COMMITTED
    spread: bool
    """Over a mesh, not a single device."""


class LayoutChange(_Changed):
    kind = CauseKind.LAYOUT


class DonationChange(_Changed):
    kind = CauseKind.DONATION


@dataclass(frozen=True, slots=True, kw_only=True)
class JitOptionChange(_Changed):
    """An option of the jit, or an argument that changed between traced and static."""

    kind = CauseKind.JIT_OPTION
    of_argument: bool = False


class CompilerOptionChange(_Changed):
    kind = CauseKind.COMPILER_OPTION


class ClearedCache(_Changed):
    """Nothing differs."""

    kind = CauseKind.CACHE_CLEARED


Difference = (
    NewFunction
    | CollectedFunction
    | Redefinition
    | ClosureChange
    | ContextChange
    | CallStyleChange
    | StaticIdentityChange
    | StaticValueChange
    | StructureChange
    | EagerBodyChange
    | EagerArgumentsChange
    | BatchSizeChange
    | RankChange
    | ShapeChange
    | ScalarTypeChange
    | DtypeChange
    | WeakTypeChange
    | ShardingChange
    | DeviceChange
    | CommitChange
    | LayoutChange
    | DonationChange
    | JitOptionChange
    | CompilerOptionChange
    | ClearedCache
)
"""Every kind of difference, for the type checker: `text.worded` has a sentence for each."""

_ORDER = {kind: position for position, kind in enumerate(CauseKind)}


def merged(differences: Iterable[Difference]) -> list[Difference]:
    """The differences in the order of `CauseKind`, equal changes merged into one with a count.

    400 leaves of a model that were all committed are one cause.
    """
    first: dict[Difference, Difference] = {}
    for found in differences:
        key = replace(found, path="", others=0)
        known = first.get(key)
        more = found.others + 1
        first[key] = found if known is None else replace(known, others=known.others + more)
    return sorted(first.values(), key=lambda found: _ORDER[found.kind])
