"""The static side of a Flax NNX module: its `GraphDef`, read by the names of the attributes.

Flax is never imported. On a version whose GraphDef has other fields, it is described like any
other static value.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import jax

_OWN = ("_pytree__nodes", "_pytree__state")
"""Attributes that Flax adds to every module."""


def graphdef_fields(value: Any) -> list[tuple[str, Any]] | None:
    """`('.dropout.deterministic', False)` for each static attribute; None for anything else.

    A container that is not of Flax has its treedef.
    Reads `GraphDef.nodes` and `.attributes`, depth first, as on flax 0.12.
    """
    if type(value).__name__ != "GraphDef":
        return None
    try:
        nodes, attributes = iter(value.nodes), iter(value.attributes)
        found = list(_node(nodes, attributes, ""))
    except Exception:
        return None
    # All was read in the order in which Flax wrote it.
    return found if next(nodes, None) is next(attributes, None) is None else None


def is_node_states(value: Any) -> bool:
    """Whether this is what Flax makes of a module before it calls `jax.jit`."""
    return type(value).__name__ == "NodeStates"


def is_variable(value: Any) -> bool:
    """Whether this is a variable of NNX, whose array is named as the variable is."""
    return _is_variable(type(value))


def variable_paths(value: Any) -> list[str]:
    """`.layers[0].kernel` for each leaf of a `NodeStates`; JAX's own paths where they differ.

    Reads `NodeStates._graphdef` and `.states`, as on flax 0.12: one flat list of the variables.
    """
    own = [jax.tree_util.keystr(p) for p, _ in jax.tree_util.tree_flatten_with_path(value)[0]]
    try:
        nodes, attributes = iter(value._graphdef.nodes), iter(value._graphdef.attributes)
        read = list(_node(nodes, attributes, ""))
        # A static attribute may be a class of variables too, such as `Optimizer.wrt`.
        pairs = pairwise(read)
        found = [
            at
            for (at, kind), (below, _) in pairs
            if _is_variable(kind) and below == f"{at}.metadata"
        ]
    except Exception:
        return own
    return found if len(found) == len(own) else own


def _is_variable(kind: Any) -> bool:
    return any(base.__qualname__ == "Variable" for base in getattr(kind, "__mro__", ()))


def _node(nodes: Any, attributes: Any, path: str) -> Iterator[tuple[str, Any]]:
    node = next(nodes)
    kind = getattr(node, "type", None)
    if kind is None:  # a reference to an earlier node
        yield path, node.index
        return
    yield path, kind
    metadata = node.metadata
    tree = getattr(metadata, "treedef", None)
    if isinstance(tree, jax.tree_util.PyTreeDef):
        yield path, tree
    elif metadata is not kind and not path.endswith(_OWN):
        yield f"{path}.metadata", metadata
    for _ in range(getattr(node, "num_attributes", 0)):
        key, held = next(attributes)
        at = f"{path}.{key}" if isinstance(key, str) else f"{path}[{key!r}]"
        if type(held).__name__ == "NodeAttr":
            yield from _node(nodes, attributes, at)
        elif hasattr(held, "value") and key not in _OWN:
            yield at, held.value
