"""Copies of arguments that a call donates."""

from __future__ import annotations

from typing import Any

import jax

from jaxscope.capture.compiles.listener import own_work


def copied(tree: Any) -> Any:
    """A pytree with copies of its JAX arrays, which outlive a call that donates them.

    Their programs are jaxscope's own: no log has them.
    """
    with own_work():
        return jax.tree_util.tree_map(
            lambda leaf: leaf.copy() if isinstance(leaf, jax.Array) else leaf, tree
        )
