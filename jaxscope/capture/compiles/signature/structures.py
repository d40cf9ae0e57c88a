"""Pytree structures as values: the paths of the leaves, the classes, the static fields by name.

Does not keep the treedefs themselves: their static fields are the user's objects.
"""

from __future__ import annotations

import re
from typing import Any

import jax
import numpy as np

from jaxscope.analysis.compiles.causes.signature import BARE, PartKind, StaticPart, Structure
from jaxscope.capture.compiles.signature.description import Description
from jaxscope.capture.compiles.signature.graphdef import (
    graphdef_fields,
    is_node_states,
    is_variable,
    variable_paths,
)
from jaxscope.capture.compiles.signature.values import ObjectIds
from jaxscope.capture.tree_paths import held_by, leaves_with_paths, one_level

_STRUCTURES_KEPT = 256  # a thousand leaves take 100 kB
_TEXT = 2000  # characters; a structure of 1000 leaves has 10 000
_SIMPLE = (jax.Array, np.ndarray, np.generic, bool, int, float, complex)
_STATIC_LEAF = re.compile(r"CustomNode\(StaticLeaf\[(.*?)\], \[\]\)")
"""As JAX prints the class below, which no user knows."""
_BUILTIN = (dict, list, tuple, type(None))
_BRACES = re.compile(r"\{([^{}]*)\}")
_KEYED = re.compile(r"'[^']*': ")


@jax.tree_util.register_pytree_node_class
class StaticLeaf:
    """A leaf that a wrapper of `jax.jit` holds static, inside the pytree that the user passed."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def tree_flatten(self) -> tuple[tuple[()], Any]:
        return (), self.value

    @classmethod
    def tree_unflatten(cls, value: Any, _: Any) -> StaticLeaf:
        return cls(value)


def _unordered(text: str) -> str:
    """The text of a treedef, with the keys of its mappings sorted: their order decides nothing.

    Flax NNX prints the metadata of a variable in the order in which it was set.
    """

    def sorted_keys(found: re.Match[str]) -> str:
        items = [item.strip() for item in found[1].split(",")]
        return ",".join(sorted(items)) if all(map(_KEYED.match, items)) else found[0]

    return _BRACES.sub(sorted_keys, text)


class Structures:
    """Interns pytree structures."""

    def __init__(self, ids: ObjectIds) -> None:
        self._ids = ids
        self._known: dict[tuple[int, int, int], Structure] = {}

    def of(self, value: Any) -> tuple[Structure, list[Any]]:
        """The container and its leaves."""
        if isinstance(value, _SIMPLE):
            return BARE, [value]
        leaves, tree = jax.tree_util.tree_flatten(value)
        if tree.num_nodes == 1 and tree.num_leaves == 1:
            return BARE, leaves
        # The hash of a tree leaves out the static fields of the user's containers.
        text = _text(tree)
        plain = _is_builtin(tree)
        parts = () if plain else self._parts(value)
        compared = frozenset(part for part in parts if not part.owner)
        key = (hash((_unordered(text), compared)), tree.num_leaves, tree.num_nodes)
        known = self._known.get(key)
        if known is None:
            parts = self._parts(value) if plain else parts
            known = Structure(hash(key), leaf_paths(value, len(leaves)), text[:_TEXT], parts)
            if len(self._known) >= _STRUCTURES_KEPT:
                self._known.clear()
            self._known[key] = known
        return known, leaves

    def _parts(self, value: Any) -> tuple[StaticPart, ...]:
        found = Description(self._ids)
        try:
            _walk(value, "", found)
        except Exception:  # the user's own flattening
            found.unread("")
        return tuple(found.parts)


def _walk(value: Any, path: str, found: Description) -> None:
    """Describe one container and those inside it."""
    if isinstance(value, _SIMPLE):
        return
    if isinstance(value, StaticLeaf):
        found.leaf(value.value, path)
        return
    pairs, tree = one_level(value)
    node = tree.node_data()
    if node is None:
        return
    kind, static = node
    if (fields := graphdef_fields(value)) is not None:
        prefix = path.removesuffix("._graphdef")
        for at, one in fields:
            if isinstance(one, jax.tree_util.PyTreeDef):
                found.container(one, prefix + at)
            else:
                found.field(one, prefix + at)
        return
    found.node(kind, path)
    if kind is not dict and static is not None:
        for at, one in static_fields(value, kind, static):
            start = len(found.parts)
            found.field(one, path + at)
            if not at and found.parts[start].kind is PartKind.CLASS:
                del found.parts[start]  # the path has the class of the node
    for key, child in pairs:
        _walk(child, path + jax.tree_util.keystr((key,)), found)


def static_fields(value: Any, kind: type, static: Any) -> list[tuple[str, Any]]:
    """Static fields of one container, by the names of its attributes.

    A name is given only to the very object that the attribute holds.
    """
    if isinstance(value, dict):  # with an order of its own
        factory = getattr(value, "default_factory", None)
        return [(".keys()", list(value)), (".default_factory", factory)]
    if hasattr(kind, "_fields"):
        return []
    items = list(static) if type(static) in (tuple, list) else [static]
    found: list[tuple[str, Any]] = []
    for i, (item, name) in enumerate(zip(items, held_by(value, items), strict=True)):
        where = f".{name}" if name is not None else f"<static {i}>" if len(items) > 1 else ""
        found.append((where, item))
    return found


def _is_builtin(tree: Any) -> bool:
    """Whether the treedef is fully told by its text: no class of the user's, no static field."""
    waiting = [tree]
    while waiting:
        one = waiting.pop()
        node = one.node_data()
        if node is None:
            continue
        if node[0] not in _BUILTIN:
            return False
        waiting += one.children()
    return True


def leaf_paths(value: Any, count: int) -> tuple[str, ...]:
    """`['w']` or `.layers[0].kernel` for each of the `count` leaves of a pytree."""
    try:
        pairs = leaves_with_paths(
            value, is_leaf=lambda one: is_node_states(one) or is_variable(one)
        )
        found: list[str] = []
        for start, one in pairs:
            if is_node_states(one):
                found += [start + at for at in variable_paths(one)]
            else:
                found += [start] * len(jax.tree_util.tree_leaves(one))
        return tuple(found)
    except Exception:  # the user's own flattening with paths
        return tuple([f"[leaf {i}]" for i in range(count)])


def _text(tree: Any) -> str:
    """`{'a': *, 'b': [*, *]}`."""
    try:
        text = str(tree)
    except Exception:  # the repr of a static field
        return f"a container of {tree.num_leaves} leaves"
    return _STATIC_LEAF.sub(r"\1", text).removeprefix("PyTreeDef(").removesuffix(")")
