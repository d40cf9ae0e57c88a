"""`vmap`: which values entered it, and where its equations come from.

A jaxpr does not say which of its values are batches. The names below were seen on jax 0.8.1, 0.10.2
and 0.12.0.1.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import functools
import itertools
import sys
import threading
import types
from collections.abc import Generator, Hashable, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxscope.capture._jax.closures import closed_over, inside_boundary
from jaxscope.capture._jax.frames import Site, begins_trace, code_positions, inside, jax_directory


@dataclass(frozen=True, slots=True)
class VmapEntry:
    """One call of a vmapped function while JAX traced it."""

    site: Site
    name: str
    """`axis_name`; empty when it has none."""
    size: int
    axes: tuple[int | None, ...]
    """By flat argument."""
    values: tuple[Any, ...]
    """By flat argument: the jaxpr's variable behind it, or a constant array."""
    of_rule: bool = False
    """A rule of JAX calls it, such as that of the derivative of `jnp.prod`."""


@contextmanager
def watching_vmaps(seen: list[VmapEntry]) -> Generator[None]:
    """Notes every call of a vmapped function that this thread traces inside the block.

    `interpreters.batching.batch` is the one function that `vmap_f` (api.py) asks for a batched
    function, once a call; for the time of the block it notes its arguments before it answers as
    ever. It is off the stack again before any user code runs. Without these names: notes nothing.
    """
    try:
        from jax._src.interpreters import batching

        original = batching.batch
    except (ImportError, AttributeError):
        yield
        return
    thread = threading.get_ident()

    @functools.wraps(original)
    def batch(fun: Any, axis_data: Any, in_dims: Any, *args: Any, **kwargs: Any) -> Any:
        if threading.get_ident() == thread:
            with suppress(Exception):  # then its equations are matched by their shapes
                caller = sys._getframe(1)
                if caller.f_code.co_name == "vmap_f":
                    seen.extend(_vmap_entry(axis_data, in_dims, caller))
        return original(fun, axis_data, in_dims, *args, **kwargs)

    batching.batch = batch
    try:
        yield
    finally:
        if batching.batch is batch:
            batching.batch = original


def _vmap_entry(axis_data: Any, in_dims: Any, frame: types.FrameType) -> list[VmapEntry]:
    """Nothing outside of any trace: such a call is part of no program, and its arrays are to be let
    go of."""
    stack: list[tuple[types.CodeType, int]] = []
    outer = frame.f_back
    while outer is not None and not begins_trace(outer.f_code):
        stack.append((outer.f_code, outer.f_lasti))
        outer = outer.f_back
    if outer is None:
        return []
    name = axis_data.name
    entry = VmapEntry(
        tuple(stack),
        name if isinstance(name, str) else "",
        int(axis_data.size),
        tuple([axis if isinstance(axis, int) else None for axis in in_dims]),
        tuple([_behind(value) for value in frame.f_locals["args_flat"]]),
        _evaluates_an_equation(),
    )
    return [entry]


def _evaluates_an_equation() -> bool:
    """Whether JAX evaluates an equation of a jaxpr now, under the traceback of that one.

    `_source_info_context` (source_info_util.py), seen on jax 0.8.1, 0.10.2 and 0.11.2. False
    without it.
    """
    try:
        from jax._src import source_info_util

        return source_info_util._source_info_context.context.traceback is not None
    except (ImportError, AttributeError):
        return False


def _behind(value: Any) -> Any:
    """The jaxpr's variable behind a tracer, through the tracers of other transforms."""
    while not isinstance(value, (int, float, complex)):
        if hasattr(value, "batch_dim"):
            value = value.val
        elif hasattr(value, "primal"):
            value = value.primal
        else:
            break
    return getattr(value, "val", value)


def array_key(array: Any) -> Hashable:
    """A key that is equal for an array of the user's and for the constant of a jaxpr that it is.

    `TypedNdArray.val` is a view of the user's NumPy array on jax 0.10; others are the same object.
    """
    array = getattr(array, "val", array)
    if not isinstance(array, np.ndarray):
        return id(array)
    return array.__array_interface__["data"][0], array.shape, array.strides, array.dtype


def vmap_sites(traceback: Any) -> tuple[Site, ...]:
    """The calls of vmapped functions around an equation, outermost first.

    Frames of `vmap_f` in api.py.
    """
    stack = _stack(traceback)
    return tuple(
        tuple(stack[index + 1 :])
        for index in range(len(stack) - 1, -1, -1)
        if _is_vmap(stack[index][0])
    )


def vmapped_code(traceback: Any, site: Site) -> list[types.CodeType]:
    """The code of an equation inside the vmapped function that is called there.

    All of its trace where that does not lead to the call: it began inside.
    """
    stack = _stack(traceback)
    first = len(stack) - len(site)
    around = first > 0 and tuple(stack[first:]) == site
    return [code for code, _ in stack[: first - 1 if around else None]]


def vmap_caller(site: Site) -> types.CodeType | None:
    """The code that calls a vmapped function, or `jax.jacfwd` of one; None where a trace begins
    with it."""
    home = jax_directory()
    codes = (code for code, _ in site)
    return next((one for one in codes if inside(one.co_filename, home) not in _CALLS), None)


_CALLS = frozenset(
    f"_src/{name}.py" for name in ("api", "api_util", "linear_util", "traceback_util")
)
"""Files of JAX's own transforms, and of what they put around each call."""


def _stack(traceback: Any) -> list[tuple[types.CodeType, int]]:
    pairs = zip(*code_positions(traceback), strict=True)
    return list(itertools.takewhile(lambda pair: not begins_trace(pair[0]), pairs))


def _is_vmap(code: types.CodeType) -> bool:
    return code.co_name == "vmap_f" and code.co_filename.startswith(jax_directory())


def leading_vmaps(
    function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> list[tuple[str, int, tuple[int | None, ...]]]:
    """The vmaps that a jitted function begins with, outermost first: name, size, flat axes.

    What `jax.vmap` closes over in `vmap_f`: `fun`, `in_axes`, `axis_name`. Empty when there is
    none, and when the names are gone.
    """
    import jax

    leaves = jax.tree_util.tree_leaves((args, kwargs))
    shapes: list[tuple[int, ...]] = [tuple(getattr(leaf, "shape", ())) for leaf in leaves]
    found: list[tuple[str, int, tuple[int | None, ...]]] = []
    function = inside_boundary(getattr(function, "__wrapped__", None))
    while isinstance(function, types.FunctionType) and function.__code__.co_name == "vmap_f":
        held = closed_over(function)
        if not {"fun", "in_axes", "axis_name"} <= held.keys():
            break
        taken = _flat_axes(held["in_axes"], args, kwargs)
        pairs = list(zip(shapes, taken, strict=True))
        sizes = {shape[axis] for shape, axis in pairs if axis is not None}
        if len(sizes) != 1:
            break
        name = held["axis_name"]
        found.append((name if isinstance(name, str) else "", sizes.pop(), taken))
        shapes = [
            shape if axis is None else shape[:axis] + shape[axis % len(shape) + 1 :]
            for shape, axis in pairs
        ]
        function = inside_boundary(held["fun"])
    return found


def _flat_axes(
    in_axes: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[int | None, ...]:
    """`in_axes`, a prefix of the arguments' tree, for every leaf; keywords are mapped along 0."""
    import jax

    axes = tuple(in_axes) if isinstance(in_axes, list) else in_axes
    flat: list[int | None] = []
    jax.tree_util.tree_map(
        lambda axis, part: flat.extend([axis] * len(jax.tree_util.tree_leaves(part))),
        axes,
        args,
        is_leaf=lambda axis: axis is None,
    )
    return (*flat, *[0 for _ in jax.tree_util.tree_leaves(kwargs)])
