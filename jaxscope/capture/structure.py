"""Containers of arguments: where their leaves lie, as the user would write it."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from jaxscope.analysis.causes import BARE, Structure

_KEPT = 256  # structures that are remembered; a thousand leaves take 100 kB
_TEXT = 2000  # characters; a structure of 1000 leaves has 10 000
_SIMPLE = (jax.Array, np.ndarray, np.generic, bool, int, float, complex)


class Structures:
    """Gives equal containers as one object. Does not keep the tree definitions themselves: their
    static fields are the user's objects."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int, int], Structure] = {}

    def of(self, value: Any) -> tuple[Structure, list[Any]]:
        """The container and its leaves."""
        if isinstance(value, _SIMPLE):
            return BARE, [value]
        leaves, tree = jax.tree_util.tree_flatten(value)
        # The hash of a tree leaves out the static fields of the user's containers.
        text = _text(tree)
        key = (hash(text), tree.num_leaves, tree.num_nodes)
        known = self._known.get(key)
        if known is None:
            known = Structure(hash(key), _paths(value, len(leaves)), text[:_TEXT])
            if len(self._known) >= _KEPT:
                self._known.clear()
            self._known[key] = known
        return known, leaves


def _paths(value: Any, count: int) -> tuple[str, ...]:
    try:
        pairs = jax.tree_util.tree_flatten_with_path(value)[0]
        return tuple([jax.tree_util.keystr(path) for path, _ in pairs])
    except Exception:  # the user's own flattening with paths
        return tuple([f"[leaf {i}]" for i in range(count)])


def _text(tree: Any) -> str:
    """`{'a': *, 'b': [*, *]}`."""
    try:
        text = str(tree)
    except Exception:  # the repr of a static field
        return f"a container of {tree.num_leaves} leaves"
    return text.removeprefix("PyTreeDef(").removesuffix(")")
