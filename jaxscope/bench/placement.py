"""Inputs of one row: copies that nothing else refers to, on the row's device."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from jaxscope import words
from jaxscope.bench.frameworks.implementation import Implementation, Refusal, Task, timed

_LINES = 64
"""Cache lines of a page."""
_MOVED = 2 << 20
"""Bytes. Larger copies take longer than a block."""
_ALIGNED = 64
"""Bytes. Every implementation's arrays begin at such an address, so that none is favored by chance.
XLA uses such an array without copying it."""


def host_arrays(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs that are placed on a device: arrays, NumPy scalars and floats."""
    return {name: np.asarray(value) for name, value in inputs.items() if is_placed(value)}


def is_placed(value: Any) -> bool:
    """Whether each implementation gets its own copy: arrays and floats. Ints, bools and other
    objects are constants of the code, as in `%%jaxjit`."""
    if isinstance(value, (np.ndarray, np.generic)):
        return np.asarray(value).dtype.kind in "biufcV"
    return isinstance(value, (float, complex)) or (
        hasattr(value, "__array__") and not isinstance(value, type)
    )


def aligned_copy(array: Any, line: int = 0) -> Any:
    """A C-contiguous copy that begins at a multiple of 64 bytes, `line` cache lines into its
    memory. Two copies of one line number may still have different addresses."""
    source = np.asarray(array)
    room = np.empty(source.nbytes + _ALIGNED * (line + 1), np.uint8)
    start = -room.ctypes.data % _ALIGNED + _ALIGNED * line
    copy = room[start : start + source.nbytes].view(source.dtype).reshape(source.shape)
    copy[...] = source
    return copy


def mover(
    implementation: Implementation, host: Mapping[str, Any], device: str, seed: int
) -> Callable[[], tuple[Any, ...]] | None:
    """A function that copies the row's inputs to a different address; None where it is slow.

    The address of an array within its page decides up to 1 % of a call for as long as it stays
    there: an implementation against itself was 0.9 % slower with an interval of ±0.2 %. A different
    address in each round turns this bias into noise, which the interval covers.
    Source: Mytkowicz et al., Producing wrong data without doing anything obviously wrong, 2009.
    """
    if not device.startswith("cpu") or not host or sum(a.nbytes for a in host.values()) > _MOVED:
        return None
    draw = random.Random(seed)

    def moved() -> tuple[Any, ...]:
        return tuple(
            [
                implementation.put(aligned_copy(array, draw.randrange(_LINES)), device)
                for array in host.values()
            ]
        )

    return moved


def place(
    implementation: Implementation, host: Mapping[str, Any], device: str
) -> tuple[tuple[Any, ...], float]:
    """The arguments of one row, its own copies, and the seconds of their transfer alone."""
    copies = [aligned_copy(array) for array in host.values()]
    return timed(lambda: tuple([implementation.put(copy, device) for copy in copies]))


def fixed(
    function: Callable[..., Any], inputs: Mapping[str, Any], namespace: Any = None
) -> Callable[..., Any]:
    """The function of the placed inputs alone; the others and the namespace are bound."""
    values = list(inputs.values())
    holes = [is_placed(value) for value in values]
    head = () if namespace is None else (namespace,)
    if all(holes):
        if namespace is None:
            return function
        return lambda *args: function(namespace, *args)

    def filled(*args: Any) -> Any:
        rest = iter(args)
        return function(
            *head, *[next(rest) if hole else v for hole, v in zip(holes, values, strict=True)]
        )

    return filled


def task_for(task: Task, inputs: Mapping[str, Any], namespace: Any) -> Task:
    """The task in terms of the placed inputs."""
    names = list(inputs)
    placed = [i for i, value in enumerate(inputs.values()) if is_placed(value)]
    places = {position: i for i, position in enumerate(placed)}
    for position in task.grad:
        if position >= len(names):
            raise Refusal(f"There is no input {position} to differentiate for, only {len(names)}.")
        if position not in places:
            raise Refusal(
                f"`{names[position]}` is not an array or a float, so it cannot be differentiated "
                "for."
            )
    if task.vmap and (len(task.vmap) != len(names) or all(axis is None for axis in task.vmap)):
        raise Refusal(
            "vmap needs a batch axis or None for each input, and an axis for at least one."
        )
    _check_axes(task.vmap, inputs)
    function = task.function
    if not isinstance(function, str):
        function = fixed(function, inputs, namespace)
    return replace(
        task,
        function=function,
        names=tuple([names[i] for i in places]),
        grad=tuple([places[i] for i in task.grad]),
        vmap=tuple([axis for i, axis in enumerate(task.vmap) if i in places]),
    )


def _check_axes(axes: Sequence[int | None], inputs: Mapping[str, Any]) -> None:
    """Raise Refusal for an axis that does not exist, and for batches of different lengths."""
    batches: dict[str, int] = {}
    for (name, value), axis in zip(inputs.items(), axes, strict=False):
        shape = getattr(value, "shape", None)
        if axis is None or shape is None:
            continue
        if not -len(shape) <= axis < len(shape):
            dimensions = words.count(len(shape), "dimension")
            raise Refusal(f"`{name}` has {dimensions}, so there is no axis {axis} to batch over.")
        batches[name] = int(shape[axis])
    if len(set(batches.values())) > 1:
        lengths = ", ".join(f"{length} of `{name}`" for name, length in batches.items())
        raise Refusal(f"vmap needs batches of the same length, but there are {lengths}.")
