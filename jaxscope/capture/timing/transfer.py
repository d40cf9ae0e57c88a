"""Transfer NumPy inputs to the device."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxscope import words
from jaxscope.capture.timing.sampling import Clock, WallClock
from jaxscope.model.timing import Timing


def place(
    args: Any, device: Any = None, *, name: str = "", clock: Clock | None = None
) -> tuple[Any, Timing | None]:
    """A pytree with its NumPy arrays on `device`, and the timing of the transfer.

    The timing is None when there is nothing to transfer. Each array is copied first, outside the
    timed region: on the CPU `device_put` shares the memory of an aligned NumPy array, and the
    program would see later writes to it. Without a device the arrays stay uncommitted, as in a
    plain call, and other leaves unchanged; with one, JAX arrays move there, too.
    """
    import jax

    leaves, tree = jax.tree_util.tree_flatten(args)
    chosen = [i for i, leaf in enumerate(leaves) if _is_numeric(leaf)]
    copies = [np.array(leaves[i], copy=True) for i in chosen]
    now = (clock or WallClock()).now
    start = now()
    placed = jax.block_until_ready([jax.device_put(copy, device) for copy in copies])
    seconds = now() - start
    for i, array in zip(chosen, placed, strict=True):
        leaves[i] = array
    if device is not None:
        leaves = [_follow(leaf, device) for leaf in leaves]
    moved = jax.tree_util.tree_unflatten(tree, leaves)
    if not chosen:
        return moved, None
    size = sum(copy.nbytes for copy in copies)
    note = f"{words.count(len(copies), 'NumPy array')}, {size} bytes"
    return moved, Timing("transfer", name, (seconds,), note=note)


def _is_numeric(leaf: Any) -> bool:
    if not isinstance(leaf, (np.ndarray, np.generic)):
        return False
    # V includes bfloat16 and the like, which have no fields.
    return leaf.dtype.kind in "biufc" or (leaf.dtype.kind == "V" and leaf.dtype.names is None)


def _follow(leaf: Any, device: Any) -> Any:
    """A jax.Array on the device; an array that is already there stays the same object."""
    import jax

    if not isinstance(leaf, jax.Array) or leaf.devices() == {device}:
        return leaf
    return jax.device_put(leaf, device)
