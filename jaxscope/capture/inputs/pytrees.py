"""The user's values as trees of leaves: survey, packing, substitution by tracers.

JAX's own flattening loses properties that a notebook needs: the identity of containers, the order
of a dict's keys, keys that cannot be sorted. So containers are walked here, one level at a time;
JAX flattens only types that users have registered as pytrees.
"""

from __future__ import annotations

import copy
import sys
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import jax

from jaxscope.capture.inputs.traced_or_static import Choice
from jaxscope.capture.tree_paths import one_level, one_level_leaf


@dataclass(slots=True)
class InputLeaf:
    """A value that is traced or static as a whole."""

    path: str
    """As the user writes it: `params['w']`."""
    value: Any
    choice: Choice


@dataclass(slots=True)
class Branch:
    """A container and its children, with a way to build a copy around new children."""

    path: str
    original: Any
    keys: tuple[Any, ...]
    children: tuple[Node, ...]
    build: Callable[[Sequence[Any]], Any]
    """A container like the original with these children."""
    has_traced: bool = field(init=False)

    def __post_init__(self) -> None:
        self.has_traced = any(is_traced(child) for child in self.children)


@dataclass(slots=True)
class Object:
    """A Flax NNX object, which enters the trace by a separate rule."""

    path: str
    value: Any


Node = InputLeaf | Branch | Object


def is_traced(node: Node) -> bool:
    """Whether anything below the node is replaced while tracing."""
    if isinstance(node, InputLeaf):
        return node.choice.traced or node.choice.fresh
    return isinstance(node, Object) or node.has_traced


def survey(
    path: str,
    value: Any,
    *,
    decide: Callable[[Any, bool], Choice],
    is_object: Callable[[Any], bool],
    above: tuple[int, ...] = (),
    in_module: bool = False,
) -> Node:
    """The tree of a value. A container that holds itself is a static leaf.

    `above` are the identities of the containers around it; with `in_module`, one is a module of
    Equinox.
    """
    if is_object(value):
        return Object(path, value)
    if id(value) in above:
        return InputLeaf(path, value, Choice(False, "a container that holds itself, so static"))
    level = children(value)
    if level is None:
        return InputLeaf(path, value, decide(value, in_module))
    keys, below, build = level
    around = (*above, id(value))
    inside = in_module or is_module(value)
    nodes = [
        survey(
            path + key_text(key),
            child,
            decide=decide,
            is_object=is_object,
            above=around,
            in_module=inside,
        )
        for key, child in zip(keys, below, strict=True)
    ]
    return Branch(path, value, tuple([_plain(k) for k in keys]), tuple(nodes), build)


def leaves(node: Node) -> Iterator[InputLeaf]:
    """The leaves in order, static ones too."""
    if isinstance(node, InputLeaf):
        yield node
    elif isinstance(node, Branch):
        for child in node.children:
            yield from leaves(child)


def objects(node: Node) -> Iterator[Object]:
    """The Flax NNX objects in order."""
    if isinstance(node, Object):
        yield node
    elif isinstance(node, Branch):
        for child in node.children:
            yield from objects(child)


def parts(node: Node) -> Iterator[Node]:
    """The node and everything below it, in order."""
    yield node
    if isinstance(node, Branch):
        for child in node.children:
            yield from parts(child)


def pack(node: Node, take: Callable[[InputLeaf], Any]) -> Any:
    """The traced leaves as a pytree of dicts, so that JAX names them as users do."""
    if isinstance(node, InputLeaf):
        return take(node)
    assert isinstance(node, Branch)
    packed = {
        key: pack(child, take)
        for key, child in zip(node.keys, node.children, strict=True)
        if _has_leaf(child)
    }
    if type(node.original) not in (dict, defaultdict, list, tuple):
        return OrderedDict(packed)  # JAX sorts the keys of a dict, and keeps the order of fields
    try:
        sorted(packed)
    except TypeError:  # keys that JAX cannot sort are passed by position
        return dict(enumerate(packed.values()))
    return packed


def substitute(
    node: Node, leaf: Callable[[InputLeaf], Any], thing: Callable[[Object], Any], copies: Copies
) -> Any:
    """The value with tracers in place of traced leaves; the original itself if it has none."""
    if isinstance(node, InputLeaf):
        if node.choice.traced:
            return leaf(node)
        if not node.choice.fresh:
            return node.value
        made = node.value.copy()
        made.flags.writeable = False
        copies.add(made, node.value, node.path)
        return made
    if isinstance(node, Object):
        return thing(node)
    if not node.has_traced:
        return node.original
    known = copies.made(node.original)
    if known is not None:
        return known
    made = node.build([substitute(child, leaf, thing, copies) for child in node.children])
    copies.add(made, node.original, node.path)
    return made


class Copies:
    """Copies of the user's containers in the trace, and their originals."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[Any, Any, str]] = {}
        self._by_original: dict[int, Any] = {}

    def add(self, made: Any, original: Any, path: str) -> None:
        self._made[id(made)] = (made, original, path)
        self._by_original[id(original)] = made

    def made(self, original: Any) -> Any:
        """The copy of a container that was met before, else None."""
        return self._by_original.get(id(original))

    def original(self, value: Any) -> Any:
        """The user's container that `value` is a copy of, or `value` itself."""
        entry = self._made.get(id(value))
        return entry[1] if entry is not None else value

    def items(self) -> Iterator[tuple[Any, Any, str]]:
        """Each copy with its original and its path."""
        return iter(self._made.values())

    def __contains__(self, value: object) -> bool:
        return id(value) in self._made

    def __iter__(self) -> Iterator[tuple[Any, str]]:
        return iter([(made, path) for made, _, path in self._made.values()])


def is_iterator(value: Any) -> bool:
    """Whether the value is an iterator of Python's own, as generators are.

    JAX 0.10 takes it for a leaf, and warns unless `is_leaf` says so.
    """
    kind = type(value)
    return hasattr(kind, "__next__") and kind.__module__ == "builtins"


def leaves_of(value: Any, above: tuple[int, ...] = ()) -> list[Any]:
    """The leaves as JAX sees them, without its warning for iterators.

    `above` are the identities of the containers around it. Raises RecursionError for a container
    that holds itself. JAX's own, raised below an `is_leaf`, uses up Python's limit for good.
    """
    if id(value) in above:
        raise RecursionError("a container that holds itself")
    level = children(value)
    if level is None:
        return [] if value is None else [value]
    around = (*above, id(value))
    return [leaf for child in level[1] for leaf in leaves_of(child, around)]


def is_builtin(value: Any) -> bool:
    """Whether the value is one of Python's own dictionaries, or a list."""
    kind = type(value)
    ours = isinstance(value, dict) and kind.__module__ in ("builtins", "collections")
    return ours or kind is list


def is_module(value: Any) -> bool:
    """Whether the value is a module of Equinox."""
    equinox = sys.modules.get("equinox")
    return equinox is not None and isinstance(value, equinox.Module)


def children(value: Any) -> tuple[tuple[Any, ...], tuple[Any, ...], Callable[..., Any]] | None:
    """Keys, children and a builder for one level of a pytree; None for a leaf."""
    kind = type(value)
    if isinstance(value, dict) and is_builtin(value):
        # A copy, not a new dict: it may be a defaultdict.
        keys = tuple(value)
        return keys, tuple(value.values()), lambda new: _filled(copy.copy(value), keys, new)
    if kind is list:
        return tuple(range(len(value))), tuple(value), list
    if kind is tuple:
        return tuple(range(len(value))), tuple(value), lambda new: tuple(new)
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        fields = tuple([jax.tree_util.GetAttrKey(name) for name in kind._fields])
        return fields, tuple(value), lambda new: kind._make(new)
    if kind.__module__ in ("builtins", "numpy") or isinstance(value, (jax.Array, type)):
        return None
    try:
        flat, treedef = one_level(value)
    except Exception:
        return None
    if jax.tree_util.treedef_is_leaf(treedef):
        return None
    keys = tuple([key for key, _ in flat])
    below = tuple([child for _, child in flat])
    if not isinstance(value, MutableMapping):
        return keys, below, treedef.unflatten
    order = list(cast("MutableMapping[Any, Any]", value))
    return keys, below, lambda new: _in_order(treedef.unflatten(new), order)


def _in_order(made: MutableMapping[Any, Any], order: list[Any]) -> MutableMapping[Any, Any]:
    """A rebuilt mapping with its keys as they were: flattening a Flax NNX state sorts them."""
    if list(made) != order and set(made) == set(order):
        for key in order:
            made[key] = made.pop(key)
    return made


def static_part(value: Any) -> Any:
    """The auxiliary data of a registered pytree; None for Python's own containers."""
    if is_builtin(value) or isinstance(value, tuple):
        return None
    treedef = jax.tree_util.tree_structure(value, is_leaf=one_level_leaf())
    data = treedef.node_data()
    return None if data is None else data[1]


def key_text(key: Any) -> str:
    """A step of a path as Python text: `['w']`, `[0]`, `.weight`."""
    return str(key) if isinstance(key, _JAX_KEYS) else f"[{key!r}]"


_JAX_KEYS = (
    jax.tree_util.GetAttrKey,
    jax.tree_util.DictKey,
    jax.tree_util.SequenceKey,
    jax.tree_util.FlattenedIndexKey,
)


def _plain(key: Any) -> Any:
    if isinstance(key, jax.tree_util.GetAttrKey):
        return key.name
    if isinstance(key, jax.tree_util.SequenceKey):
        return key.idx
    return key.key if isinstance(key, _JAX_KEYS) else key


def has_tracer(node: Node) -> bool:
    """Whether some leaf below the node becomes a tracer."""
    return isinstance(node, Object) or _has_leaf(node)


def _has_leaf(node: Node) -> bool:
    if isinstance(node, Branch):
        return any(_has_leaf(child) for child in node.children)
    return isinstance(node, InputLeaf) and node.choice.traced


def _filled(made: dict[Any, Any], keys: Sequence[Any], new: Sequence[Any]) -> dict[Any, Any]:
    made.update(zip(keys, new, strict=True))
    return made
