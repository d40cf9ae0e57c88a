"""What a call was made with, as far as JAX tells programs apart: plain values, no live object.

Serials stand for objects: two objects have the same serial only if they are the same one. Texts are
for people; what decides whether two values are equal is a `token`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Holder(StrEnum):
    """What held a leaf's value."""

    JAX = "jax.Array"
    NUMPY = "np.ndarray"
    SCALAR = "NumPy scalar"
    PYTHON = "Python scalar"
    TRACER = "tracer"
    ABSTRACT = "ShapeDtypeStruct"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Leaf:
    """One array argument. Equal leaves are one object, since calls repeat them by the thousand."""

    shape: tuple[int, ...]
    dtype: str
    """Short: `f32`."""
    bytes: int
    weak: bool = False
    """The dtype yields to that of whatever it meets, as a Python scalar's does."""
    holder: Holder = Holder.JAX
    type: str = ""
    """The Python type, where `holder` leaves it open: `float`."""
    committed: bool = False
    """Bound to its devices, by `device_put` or by coming from arrays that are."""
    place: str = ""
    """`cpu:0`, or `P('d') over mesh d=8`; empty for what lies on no device yet."""
    spread: bool = False
    """The place is a sharding over a mesh, not a single device."""
    layout: str = ""
    """Empty for the default."""

    @property
    def text(self) -> str:
        """`f32[4,8]`."""
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"

    @property
    def held(self) -> str:
        """What held it, in words: `Python float`, `jax.Array`."""
        if self.holder is Holder.PYTHON:
            return f"Python {self.type}"
        return self.type if self.holder in (Holder.SCALAR, Holder.OTHER) else str(self.holder)


@dataclass(frozen=True, slots=True)
class Structure:
    """The container of an argument: where its leaves lie."""

    token: int
    paths: tuple[str, ...]
    """Of each leaf, inside the argument: `['w'][0]`; one empty path for a bare leaf."""
    text: str = ""
    """As JAX prints it, shortened."""


BARE = Structure(0, ("",))


@dataclass(frozen=True, slots=True)
class Argument:
    """A traced argument."""

    name: str
    structure: Structure
    leaves: tuple[Leaf, ...]
    keyword: bool = False
    """Passed by keyword."""
    position: int = 0
    """In the order of the call; keywords come last."""

    @property
    def is_bare(self) -> bool:
        return self.structure.paths == ("",)


@dataclass(frozen=True, slots=True)
class Static:
    """A static argument, or a setting of an eager operation."""

    name: str
    text: str
    token: int
    type: str = ""
    identity: bool = False
    """Its type has no `__eq__` of its own, so it equals only itself."""
    keyword: bool = False
    position: int = 0


@dataclass(frozen=True, slots=True)
class Held:
    """A value that a function carries along: in a closure, a default, a partial, a bound self."""

    name: str
    text: str
    token: int


@dataclass(frozen=True, slots=True)
class Function:
    """The function under the jit."""

    serial: int
    """Of the object that JAX was given."""
    name: str
    qualname: str = ""
    module: str = ""
    file: str = ""
    line: int = 0
    code: int = 0
    """Serial of its code object: the same for all functions that one `def` makes; 0 if none."""
    text: int = 0
    """Equal for code that reads the same, wherever it stands."""
    wrappers: tuple[str, ...] = ()
    """What is around it, outermost first: `jax.grad`, `partial`, `bound method`."""
    held: tuple[Held, ...] = ()
    origin: int = 0
    """Serial of the notebook cell whose block this is; 0 for a function of the user's."""
    internal: bool = False
    """It is JAX's own."""

    @property
    def is_lambda(self) -> bool:
        return self.name == "<lambda>"


@dataclass(frozen=True, slots=True)
class Body:
    """A function that an eager `scan`, `cond` or `while_loop` was given."""

    name: str
    """The operation's name for it: `jaxpr`, `body_jaxpr`."""
    function: str
    """`<lambda> at cell:3`."""
    serial: int
    """Of the jaxpr that it was traced to."""


@dataclass(frozen=True, slots=True)
class Signature:
    """All that decides which program a call needs."""

    function: Function
    arguments: tuple[Argument, ...] = ()
    statics: tuple[Static, ...] = ()
    parameters: tuple[str, ...] = ()
    """Of the function, with a default value: leaving one out is a style of its own."""
    positional: int = 0
    """How many were passed by position."""
    options: tuple[tuple[str, str], ...] = ()
    """Of the jit, where not JAX's default."""
    context: tuple[tuple[str, str], ...] = ()
    """JAX's settings that belong to the key; one object as long as they are the same."""
    transform: str = ""
    bodies: tuple[Body, ...] = ()
    eager: bool = False

    def texts(self, limit: int = 64) -> tuple[str, ...]:
        """One short text an argument, as the user wrote them: `x: f32[4,8]`, `n=3`."""
        found = [(a.position, f"{a.name}: {summary(a)}") for a in self.arguments]
        if not self.eager:
            found += [(s.position, f"{s.name}={s.text}") for s in self.statics]
        return tuple([text for _, text in sorted(found, key=lambda pair: pair[0])][:limit])


def summary(argument: Argument) -> str:
    """`f32[4,8]`, `float` for a Python scalar, `3 leaves, 48 B` for a container."""
    if argument.is_bare:
        leaf = argument.leaves[0] if argument.leaves else None
        if leaf is None:
            return "nothing"
        return leaf.type if leaf.holder is Holder.PYTHON else leaf.text
    count = len(argument.leaves)
    if not count and argument.structure.text == "None":
        return "None"
    total = sum(leaf.bytes for leaf in argument.leaves)
    return f"{count} {'leaf' if count == 1 else 'leaves'}, {_size(total)}"


def _size(count: int) -> str:
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= scale:
            return f"{count / scale:.3g} {unit}"
    return f"{count} B"
