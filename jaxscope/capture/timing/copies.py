"""Arguments of a call as they were, for a later one."""

from __future__ import annotations

from typing import Any

import jax

from jaxscope.capture import _jax
from jaxscope.capture.compiles.listener import own_work


def copied(tree: Any) -> Any:
    """A pytree with copies of its JAX arrays, which outlive a call that donates them.

    Their programs are jaxscope's own: no log has them.
    """
    with own_work():
        return jax.tree_util.tree_map(
            lambda leaf: leaf.copy() if isinstance(leaf, jax.Array) else leaf, tree
        )


def kept(
    jitted: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments in new containers, which later code of the user does not change.

    Static ones stay what they are: JAX may tell them apart by their identity.
    """
    try:
        traced, named = _jax.traced_arguments(jitted, args, kwargs)
    except Exception:  # of a different JAX: what the code changes later may be reported
        return args, kwargs
    changeable = {id(value) for value in (*traced, *named.values())}

    def same(value: Any) -> Any:
        if id(value) not in changeable:
            return value
        return jax.tree_util.tree_map(lambda leaf: leaf, value)

    return tuple(map(same, args)), {name: same(value) for name, value in kwargs.items()}
