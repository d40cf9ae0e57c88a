"""The key of a call, as far as JAX distinguishes programs: plain values, no live object.

An id identifies an object: two values have the same id only if they are the same object. Texts are
for people; a `token` decides whether two values are equal.
"""

from dataclasses import KW_ONLY, dataclass
from enum import StrEnum

from jaxscope import words


class Holder(StrEnum):
    """The kind of object that held a leaf's value."""

    JAX = "jax.Array"
    NUMPY = "np.ndarray"
    SCALAR = "NumPy scalar"
    PYTHON = "Python scalar"
    TRACER = "tracer"
    ABSTRACT = "ShapeDtypeStruct"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class ArgumentLeaf:
    """One array argument. Equal leaves are one object, since calls repeat them by the thousand."""

    shape: tuple[int, ...]
    dtype: str
    """Short: `f32`."""
    bytes: int
    weak: bool = False
    """Weakly typed, like a Python scalar."""
    holder: Holder = Holder.JAX
    _: KW_ONLY
    type: str = ""
    """The Python type, where `holder` leaves it open: `float`."""
    committed: bool = False
    """Committed to its devices, by `device_put` or by coming from committed arrays."""
    place: str = ""
    """`cpu:0`, or `P('d') over mesh d=8`; empty for a value on no device."""
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
        """The kind of value, in words: `Python float`, `jax.Array`."""
        if self.holder is Holder.PYTHON:
            return f"Python {self.type}"
        return self.type if self.holder in (Holder.SCALAR, Holder.OTHER) else str(self.holder)


class PartKind(StrEnum):
    """Kinds of parts of a value that JAX compares."""

    VALUE = "value"
    CLASS = "class"
    """The class of a container."""
    LENGTH = "length"
    FUNCTION = "function"
    OBJECT = "object"
    """Compared by identity."""
    LEAF = "leaf"
    """A leaf that a wrapper of `jax.jit` holds static, because it is not an array."""
    UNREAD = "unread"
    """Too deep, or one too many: it may differ."""


@dataclass(frozen=True, slots=True)
class StaticPart:
    """A part of a treedef, of a static argument or of a captured value."""

    path: str
    """Inside the value: `.rate`, `['a'][0]`; a name that a function closes over is `.name`."""
    text: str
    token: int
    kind: PartKind = PartKind.VALUE
    _: KW_ONLY
    field: str = ""
    """Path of the static field of a treedef that it belongs to; empty for the treedef itself."""
    owner: int = 0
    """Token of the function or object around it that JAX compares by identity, if any."""


@dataclass(frozen=True, slots=True)
class Structure:
    """The pytree structure (treedef) of an argument."""

    token: int
    paths: tuple[str, ...]
    """Of each leaf, inside the argument: `['w'][0]`; one empty path for a bare leaf."""
    text: str = ""
    """As JAX prints it, shortened."""
    parts: tuple[StaticPart, ...] = ()
    """Classes of the containers, and what their static fields hold."""


BARE = Structure(0, ("",))


@dataclass(frozen=True, slots=True)
class TracedArgument:
    """An argument that JAX traces."""

    name: str
    structure: Structure
    leaves: tuple[ArgumentLeaf, ...]
    keyword: bool = False
    """Passed by keyword."""
    position: int = 0
    """In the order of the call; keywords come last."""

    @property
    def is_bare(self) -> bool:
        return self.structure.paths == ("",)


@dataclass(frozen=True, slots=True)
class StaticArgument:
    """A static argument, or a parameter of an eager operation."""

    name: str
    text: str
    token: int
    type: str = ""
    identity: bool = False
    """Its type defines no `__eq__`, so it equals only itself."""
    _: KW_ONLY
    parts: tuple[StaticPart, ...] = ()
    own: bool = True
    """Its class is the user's, who may change it."""
    keyword: bool = False
    position: int = 0


@dataclass(frozen=True, slots=True)
class CapturedValue:
    """A value captured by a function: in a closure, a default, a partial, a bound self; or a
    constant of a cell that is one program, by its path."""

    name: str
    text: str
    token: int
    parts: tuple[StaticPart, ...] = ()
    _: KW_ONLY
    type: str = ""
    """The Python type of a constant of a cell."""
    left_out: bool = False
    """The default value of a parameter that a call of a cell leaves out."""
    of_field: bool = False
    """A static field of a registered container."""


EQUINOX = {
    "_GradWrapper": "filter_grad",
    "_ValueAndGradWrapper": "filter_value_and_grad",
    "_VmapWrapper": "filter_vmap",
}
"""Equinox's transforms by their classes; its `filter_jit` is no transform of the program."""


@dataclass(frozen=True, slots=True)
class JittedFunction:
    """The function under the jit."""

    object_id: int
    """Of the object that was passed to JAX."""
    name: str
    qualname: str = ""
    module: str = ""
    file: str = ""
    _: KW_ONLY
    line: int = 0
    column: int = 0
    """Of its first expression: tells two functions on one line apart."""
    code_id: int = 0
    """Of its code object: the same for all functions that one `def` creates; 0 if none."""
    code_hash: int = 0
    """Equal for equal code, at any place in any file."""
    wrappers: tuple[str, ...] = ()
    """Wrappers, outermost first: `jax.grad`, `partial`, `bound method`."""
    owner: str = ""
    """The class of the object that a bound method is bound to."""
    owner_id: int = 0
    """Of that object; 0 for any other function."""
    captured: tuple[CapturedValue, ...] = ()
    reads: tuple[tuple[str, int], ...] = ()
    """Functions and numbers of the user's that the code reads by global names, also through such
    functions: each with a hash of its code or value."""
    cell_id: int = 0
    """Of the notebook cell that is this program; 0 for a function of the user's."""
    called: str = ""
    """The name of the function where this program is one call of it, and belongs to a cell."""
    reusable: bool = True
    """An equal program of an earlier run of the cell would have been used again."""
    internal: bool = False
    """It is JAX's own."""
    cell: str = ""
    """`In [3]`, the cell of a notebook in which it is defined, as numbered at the call."""

    @property
    def transformed_hash(self) -> int:
        """Of the code and the transforms of it, JAX's and Equinox's: that of a program that is one
        call of it."""
        transforms = [one for one in self.wrappers if one.startswith("jax.") or one in EQUINOX]
        return hash((self.code_hash, *transforms))

    @property
    def is_lambda(self) -> bool:
        return self.name == "<lambda>"


@dataclass(frozen=True, slots=True)
class ControlFlowBody:
    """A function passed to an eager `scan`, `cond` or `while_loop`."""

    name: str
    """The operation's name for it: `jaxpr`, `body_jaxpr`."""
    function: str
    """`<lambda> at cell:3`."""
    jaxpr_id: int
    """Of the jaxpr that it was traced to."""
    function_id: int = 0
    """Of the function; 0 when unknown."""
    own: bool = True
    """It is not one that JAX creates in each call, as `lax.map` does."""


@dataclass(frozen=True, slots=True)
class CallSignature:
    """Everything that decides which program a call needs."""

    function: JittedFunction
    arguments: tuple[TracedArgument, ...] = ()
    statics: tuple[StaticArgument, ...] = ()
    parameters: tuple[str, ...] = ()
    """Of the function, with a default value: leaving one out is a style of its own."""
    _: KW_ONLY
    omitted: tuple[StaticArgument, ...] = ()
    """Static parameters that the call leaves out, with their default values."""
    options: tuple[tuple[str, str], ...] = ()
    """Of the jit, where not JAX's default."""
    context: tuple[tuple[str, str], ...] = ()
    """JAX's trace context (config) by name; one object while the settings are equal."""
    transform: str = ""
    bodies: tuple[ControlFlowBody, ...] = ()
    eager: bool = False
    filtered: bool = False
    """A call of `equinox.filter_jit`, whose arguments may have leaves that are not arrays."""
    uncached: bool = False
    """JAX looked for leaked tracers, and cached no trace."""
    complete: bool = True
    """JAX showed all of it. Else no difference can be named: the true one may be missing."""

    def texts(self, limit: int = 64) -> tuple[str, ...]:
        """One short text per argument, as the user wrote them: `x: f32[4,8]`, `n=3`."""
        found = [(a.position, f"{a.name}: {summary(a)}") for a in self.arguments]
        if not self.eager:
            found += [(s.position, f"{s.name}={s.text}") for s in self.statics]
        return tuple([text for _, text in sorted(found, key=lambda pair: pair[0])][:limit])


def summary(argument: TracedArgument) -> str:
    """`f32[4,8]`, `float` for a Python scalar, `3 leaves, 48 B` for a container."""
    if argument.is_bare:
        leaf = argument.leaves[0] if argument.leaves else None
        if leaf is None:
            return "nothing"
        return leaf.type if leaf.holder is Holder.PYTHON else leaf.text
    if not argument.leaves and argument.structure.text == "None":
        return "None"
    if argument.structure.parts and argument.structure.parts[0].kind is PartKind.LEAF:
        return argument.structure.parts[0].text
    total = sum(leaf.bytes for leaf in argument.leaves)
    return f"{words.count(len(argument.leaves), 'leaf', 'leaves')}, {words.size(total)}"
