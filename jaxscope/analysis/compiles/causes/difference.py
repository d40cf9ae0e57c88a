"""Differences between two calls: one class per kind of cause that has fields for its sentence.

To add a cause: a member of `CauseKind`, which joins `PlainKind` or has a class here that joins
`Difference`, and its sentence in `text.py`, which does not type-check without it.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from jaxscope.model import CauseKind


@dataclass(frozen=True, slots=True)
class _Changed:
    """`path` went from `before` to `after`."""

    path: str
    before: str = ""
    after: str = ""
    others: int = 0
    """Number of further paths that differ in the same way."""

    @property
    def distance(self) -> int:
        """The size of the change: the nearest call has the smallest sum."""
        return 1


NUMBERS = ("bool", "int", *[f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)])
"""Types of the numbers that a cell does not trace by itself, as it does a float."""

PlainKind = Literal[
    CauseKind.FUNCTION_COLLECTED, CauseKind.CLOSURE, CauseKind.CONTEXT, CauseKind.CALL_STYLE,
    CauseKind.EAGER_BODY, CauseKind.VMAP_SIZE, CauseKind.SHARDING, CauseKind.DEVICE,
    CauseKind.LAYOUT, CauseKind.DONATION, CauseKind.COMPILER_OPTION,
    CauseKind.CACHE_CLEARED,
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainChange(_Changed):
    """A change that needs no more fields.

    Of a function that was collected and of a new body, `after` is where the new one is defined; of
    a setting, `path` is its name; of a batch size, `path` has the first axis that changed.
    """

    kind: PlainKind

    @property
    def distance(self) -> int:
        return _NEW_BODY if self.kind is CauseKind.EAGER_BODY else 1


_NEW_BODY = 8
"""Another loop is further away than other arguments of the same one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFunction(_Changed):
    """The same code in a new function object; `after` is where it is defined."""

    kind: ClassVar[Literal[CauseKind.NEW_FUNCTION]] = CauseKind.NEW_FUNCTION
    wrappers: tuple[str, ...] = ()
    owner: str = ""
    """The class of the object that it is a method of, where that object is new."""
    elsewhere: bool = False
    """It is written a second time, in a different place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Redefinition(_Changed):
    """A function, or the cell that is the program, was defined again; `after` is where."""

    kind: ClassVar[Literal[CauseKind.REDEFINED]] = CauseKind.REDEFINED
    code: Literal["same", "edited"]
    """Whether its text changed too, or what it reads: new code has to be compiled."""
    reads: tuple[str, ...] = ()
    """Names of the functions and numbers that it reads and that changed."""
    of_cell: bool = False
    known: bool = True
    """Everything that the cell takes was compared, and is equal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticIdentityChange(_Changed):
    """A static argument that is compared by identity."""

    kind: ClassVar[Literal[CauseKind.STATIC_IDENTITY]] = CauseKind.STATIC_IDENTITY
    type: str
    field: str = ""
    """The static field or argument that it is a part of; empty for the whole argument."""
    own: bool = True
    """The type, or the function itself, is the user's, who may change it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticValueChange(_Changed):
    """A static argument or a part of it, a static field, or a constant of a cell that is one
    program."""

    kind: ClassVar[Literal[CauseKind.STATIC_VALUE]] = CauseKind.STATIC_VALUE
    of: Literal["argument", "field", "leaf", "cell"] = "argument"
    field: str = ""
    """The static field of a treedef that it is a part of."""
    type: str = ""
    """The Python type of a constant of a cell; empty when unknown, and for a default value."""
    traced: Literal["", "before", "now"] = ""
    """The call in which JAX traced it instead."""
    renewed: str = ""
    """A function or an object beside it that is compared by identity, and new too: equal values
    would have made no difference."""

    @property
    def distance(self) -> int:
        return 2 if self.renewed else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class StructureChange(_Changed):
    """The pytree structure of one argument, or which arguments there are."""

    kind: ClassVar[Literal[CauseKind.STRUCTURE]] = CauseKind.STRUCTURE
    change: Literal["added", "removed", "argument", "container", "class", "length"]
    """Leaves added, leaves only removed, an argument passed or left out, a different container, a
    class that was defined again, or a different number of entries."""
    leaves: int = 0
    """Number of leaves that were added or removed."""

    @property
    def distance(self) -> int:
        return 2 + self.leaves


@dataclass(frozen=True, slots=True, kw_only=True)
class EagerArgumentsChange(_Changed):
    """All that changed in the arguments of an eager operation."""

    kind: ClassVar[Literal[CauseKind.EAGER_SHAPE]] = CauseKind.EAGER_SHAPE
    names: tuple[str, ...] = ()
    """Of the arguments, where the operation names them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankChange(_Changed):
    kind: ClassVar[Literal[CauseKind.RANK]] = CauseKind.RANK
    shapes: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())

    @property
    def distance(self) -> int:
        return 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeChange(_Changed):
    kind: ClassVar[Literal[CauseKind.SHAPE]] = CauseKind.SHAPE
    axes: tuple[int, ...]
    order: tuple[int, ...] = ()
    """Axes of the new shape that give the sizes of the earlier one; empty if none do."""
    apart: bool = False
    """Other leaves of the same argument changed on other axes, as those of a wider model do."""

    @property
    def distance(self) -> int:
        return len(self.axes)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalarTypeChange(_Changed):
    """From one Python scalar type to another."""

    kind: ClassVar[Literal[CauseKind.VALUE_KIND]] = CauseKind.VALUE_KIND
    dtypes: tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class DtypeChange(_Changed):
    kind: ClassVar[Literal[CauseKind.DTYPE]] = CauseKind.DTYPE
    cast: str
    """The dtype to convert to; empty for random keys, which cannot be converted."""
    weak: bool = False
    """The value of that dtype is weakly typed: converting the other one leaves them different."""
    weak_changed: bool = False
    """Only one of the two values is weakly typed, as a Python scalar is."""

    @property
    def distance(self) -> int:
        return 2 if self.weak_changed else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class WeakTypeChange(_Changed):
    kind: ClassVar[Literal[CauseKind.WEAK_TYPE]] = CauseKind.WEAK_TYPE
    dtype: str
    scalar: bool
    """Without dimensions: a Python scalar can be passed, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitChange(_Changed):
    """Committed to devices, or not any more."""

    kind: ClassVar[Literal[CauseKind.COMMITTED]] = CauseKind.COMMITTED
    spread: bool
    """Over a mesh, not a single device."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JitOptionChange(_Changed):
    """An option of the jit, or an argument that changed between traced and static."""

    kind: ClassVar[Literal[CauseKind.JIT_OPTION]] = CauseKind.JIT_OPTION
    of_argument: bool = False


Difference = (
    PlainChange | NewFunction | Redefinition | StaticIdentityChange | StaticValueChange |
    StructureChange | EagerArgumentsChange | RankChange | ShapeChange | ScalarTypeChange |
    DtypeChange | WeakTypeChange | CommitChange | JitOptionChange
)  # fmt: skip
"""Every kind of difference, for the type checker: `text.worded` has a sentence for each."""

_ORDER = {kind: position for position, kind in enumerate(CauseKind)}


def set_apart(differences: Sequence[Difference]) -> list[Difference]:
    """The differences, with the shapes marked that changed on different axes of one argument."""
    axes: dict[str, set[tuple[int, ...]]] = {}
    for found in differences:
        if isinstance(found, ShapeChange):
            axes.setdefault(root(found.path), set()).add(found.axes)
    return [
        replace(found, apart=True)
        if isinstance(found, ShapeChange) and len(axes[root(found.path)]) > 1
        else found
        for found in differences
    ]


def root(path: str) -> str:
    """`params` of `params['w'].x`."""
    return re.split(r"[\[.]", path, maxsplit=1)[0]


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
