"""Options by name for a function that is decorated: its parameters as JAX counts them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from jaxscope.capture.options.composition import Axes, Composition, PmapOptions, VmapOptions, root
from jaxscope.capture.options.settings import TransformError

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def argnums(function: Callable[..., Any], names: Sequence[str]) -> int | tuple[int, ...]:
    """Places of the named parameters; 0, JAX's own default, for none."""
    if not names:
        return 0
    known = _parameters(function)
    places = tuple([known.index(_known(name, known, "-w", function)) for name in names])
    return places[0] if len(places) == 1 else places


def in_axes(function: Callable[..., Any], axes: Axes) -> Any:
    """`in_axes` for the positional parameters.

    Parameters that are not named stay whole if some parameter is mapped by name; else all are
    mapped along their first axis.
    """
    if not axes:
        return 0
    known = _parameters(function)
    default = None if any(axis is not None for _, axis in axes) else 0
    found: dict[str, int | None] = dict.fromkeys(known, default)
    for name, axis in axes:
        found[_known(name, known, "-i", function)] = axis
    # Calls usually omit a parameter with a default, and JAX wants one axis per argument.
    named, parameters = [name for name, _ in axes], inspect.signature(function).parameters
    while known[-1] not in named and parameters[known[-1]].default is not inspect.Parameter.empty:
        del found[known.pop()]
    return tuple(found.values())


def mapped(
    composition: Composition,
    function: Callable[..., Any],
    kwargs: Mapping[str, Any],
    leaves: Mapping[str, Any],
) -> dict[str, str]:
    """The mapped axes of each argument of a call, in words, by path."""
    said: dict[str, list[str]] = {path: [] for path in leaves}
    ranks = {path: len(np.shape(leaf)) for path, leaf in leaves.items()}
    for segment in composition.segments:
        if not isinstance(segment.options, VmapOptions | PmapOptions):
            continue
        given = in_axes(function, segment.options.axes)
        known = {} if given == 0 else dict(zip(_parameters(function), given, strict=False))
        for path in leaves:
            name = root(path)
            # JAX maps arguments given by keyword along its first axis, whatever `in_axes` says.
            axis = 0 if given == 0 or name in kwargs else known.get(name)
            if axis is None:
                said[path].append(f"whole under {segment.name}")
            elif ranks[path]:
                said[path].append(f"{segment.name} along axis {axis % ranks[path]}")
                ranks[path] -= 1
    return {path: ", ".join(words) for path, words in said.items() if words}


def _known(name: str, known: Sequence[str], option: str, function: Callable[..., Any]) -> str:
    if name in known:
        return name
    called = getattr(function, "__name__", "the function")
    listing = ", ".join(f"`{n}`" for n in known) or "none"
    raise TransformError(
        f"Line 1: {option} names `{name}`, which is not a positional parameter of `{called}`. Its "
        f"parameters are: {listing}."
    )


def _parameters(function: Callable[..., Any]) -> list[str]:
    """The positional parameters with which the function is called, those with defaults too."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in found if p.kind in _POSITIONAL]
