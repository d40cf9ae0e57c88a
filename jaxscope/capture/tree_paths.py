"""Paths of the leaves of a pytree as Python text: `['w']`, `[0].weight`.

JAX numbers the children of a class that was registered without keys; here these have the name of
the attribute that holds them.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
from jax.tree_util import FlattenedIndexKey, GetAttrKey, keystr


def attribute_names(value: Any) -> list[str]:
    """Names of the attributes that hold what a pytree class flattens."""
    if isinstance(value, functools.partial):  # `jax.tree_util.Partial`
        return ["func", "args", "keywords"]
    fields = getattr(type(value), "__dataclass_fields__", None)
    if fields is not None:
        return list(fields)
    slots = [getattr(kind, "__slots__", ()) for kind in type(value).__mro__]
    slotted = [name for own in slots for name in ([own] if isinstance(own, str) else own)]
    return [n for n in (*getattr(value, "__dict__", ()), *slotted) if not n.startswith("__")]


def held_by(value: Any, items: Sequence[Any]) -> list[str | None]:
    """The attribute of `value` that holds each of these very objects; None where none does."""
    left = {name: getattr(value, name, None) for name in attribute_names(value)}
    found: list[str | None] = []
    for item in items:
        name = next((name for name, one in left.items() if one is item), None)
        if name is not None:
            del left[name]
        found.append(name)
    return found


def one_level_leaf() -> Callable[[Any], bool]:
    """An `is_leaf` for one tree whose children are leaves, the tree itself among them."""
    calls = itertools.count()
    return lambda _: next(calls) > 0


def one_level(value: Any) -> tuple[list[tuple[Any, Any]], Any]:
    """Key and child of each child of a pytree, and the treedef of this level.

    Raises what the user's own flattening raises.
    """
    pairs, tree = jax.tree_util.tree_flatten_with_path(value, is_leaf=one_level_leaf())
    keys = [path[0] if path else None for path, _ in pairs]
    below = [child for _, child in pairs]
    if any(isinstance(key, FlattenedIndexKey) for key in keys):
        names = held_by(value, below)
        keys = [k if n is None else GetAttrKey(n) for k, n in zip(keys, names, strict=True)]
    return list(zip(keys, below, strict=True)), tree


def leaves_with_paths(
    tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> list[tuple[str, Any]]:
    """Path and leaf of each leaf in JAX's order.

    Raises what the user's own flattening raises.
    """
    pairs = jax.tree_util.tree_leaves_with_path(tree, is_leaf=is_leaf)
    if not any(isinstance(key, FlattenedIndexKey) for path, _ in pairs for key in path):
        return [(keystr(path), leaf) for path, leaf in pairs]
    return list(_leaves(tree, "", is_leaf))


def of_jaxs_names(
    function: Any, args: Sequence[Any], kwargs: Mapping[str, Any], names: Sequence[str]
) -> tuple[str, ...]:
    """The leaves of a call by these names of JAX's: `layer.w`, which JAX calls `layer[0]`."""
    found: dict[str, str] = {}
    try:
        arguments = inspect.signature(function).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        return tuple(names)
    for name, value in arguments.items():
        pairs = jax.tree_util.tree_leaves_with_path(value)
        if not any(isinstance(key, FlattenedIndexKey) for path, _ in pairs for key in path):
            continue
        for (path, _), (ours, _) in zip(pairs, leaves_with_paths(value), strict=True):
            keys = [f"[{k.key}]" if isinstance(k, FlattenedIndexKey) else str(k) for k in path]
            found["".join([name, *keys])] = name + ours
    return tuple([found.get(name, name) for name in names])


def _leaves(
    tree: Any, path: str, is_leaf: Callable[[Any], bool] | None
) -> Iterator[tuple[str, Any]]:
    if is_leaf is not None and is_leaf(tree):
        yield path, tree
        return
    below, level = one_level(tree)
    if level.node_data() is None:  # a leaf; None is a node without children
        yield path, tree
        return
    for key, child in below:
        yield from _leaves(child, path + keystr((key,)), is_leaf)
