"""The table of transforms: how each changes shapes, wraps a traced program, and wraps a function.

All forms of all magics go through it. A program under a composition is a function of packed inputs
that returns `(value, results)`: a derivative is taken of the value, and the cell binds the results.
Each transform wraps such a function.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from jaxscope.capture.jaxpr.untransformed import Base
from jaxscope.capture.options.composition import (
    Composition,
    GradOptions,
    PmapOptions,
    Segment,
    VmapOptions,
)
from jaxscope.capture.options.error_origin import calls_user_code
from jaxscope.capture.options.settings import TransformError
from jaxscope.capture.transforms import derivatives
from jaxscope.capture.transforms.parameters import argnums, in_axes
from jaxscope.capture.transforms.shapes import Level

Program = Callable[..., tuple[Any, list[Any]]]


@dataclass(frozen=True, slots=True)
class TransformContext:
    """The level of one transform, and the program inside of it."""

    level: Level
    base: Base
    inside: Sequence[Segment]
    """The transforms inside this one."""
    loss_line: int | None
    """Line of the statement whose value is transformed."""


@dataclass(frozen=True, slots=True)
class Transform:
    """One transform of JAX, as each form of a magic applies it."""

    below: Callable[[Any, Level], Level]
    """From its options and its level, the level inside. Raises TransformError if there is none."""
    maps: Callable[[Program, Any, TransformContext], Program]
    """Wraps the program for tracing: its maps alone, so that their axes are in scope."""
    block: Callable[[Program, Any, TransformContext], Program]
    """Wraps the traced program."""
    decorate: Callable[[Callable[..., Any], Any, Mapping[str, Any]], Callable[..., Any]]
    """Wraps a function of the user's; also takes the options of `jax.jit` that apply to it."""
    entry_points: int | None = 1
    """Number of functions that the decorator form needs; None for any number."""


def _unchanged(program: Program, options: Any, place: TransformContext) -> Program:
    return program


# vmap


def _vmap_block(program: Program, options: VmapOptions, place: TransformContext) -> Program:
    return _vmap(program, place.level.packed_axes(options.axes, "vmap"), options)


def _vmap(function: Callable[..., Any], axes: Any, options: VmapOptions) -> Any:
    name = options.axis_name or None
    return jax.vmap(function, in_axes=axes, out_axes=options.out_axes, axis_name=name)


# pmap


def _pmap_below(options: PmapOptions, level: Level) -> Level:
    axes = level.axes(options.axes, "pmap")
    size, here = level.size(axes), len(jax.local_devices())
    if options.devices is not None and options.devices > here:
        raise TransformError(
            f"{level.where}--devices {options.devices} needs {options.devices} devices, but there "
            f"{_are(here)}. {_simulate(options.devices)}"
        )
    if options.devices is not None and options.devices != size:
        raise TransformError(
            f"{level.where}the mapped axis has length {size}, but --devices is {options.devices}: "
            f"each device takes one slice. {_reshaped(size, options.devices)}"
        )
    if size > here:
        raise TransformError(
            f"{level.where}the mapped axis has length {size}, but there {_are(here)}: each device "
            f"takes one slice. {_reshaped(size, here)} {_simulate(size)}"
        )
    return level.mapped(axes)


def _are(number: int) -> str:
    return "is 1 device" if number == 1 else f"are {number} devices"


def _reshaped(size: int, devices: int) -> str:
    """Advice by which each of these devices gets several examples."""
    if devices == 1:
        return "Use `vmap` for several examples on one device."
    if size < devices:
        return "Leave --devices out."
    rounded = -(-size // devices) * devices
    pad = "" if rounded == size else f"pad the mapped axis to {rounded}, "
    steps = f"{pad}reshape the inputs to ({devices}, …), and put `vmap` inside."
    return steps[:1].upper() + steps[1:]


def _simulate(number: int) -> str:
    return (
        f"To simulate {number} CPU devices, restart the kernel and run "
        f"`%jaxdevices --cpu {number}` before anything else uses JAX."
    )


def _pmap_block(program: Program, options: PmapOptions, place: TransformContext) -> Program:
    return jax.pmap(
        program,
        in_axes=place.level.packed_axes(options.axes, "pmap"),
        out_axes=options.out_axes,  # type: ignore[arg-type]
        axis_name=options.axis_name or _AXIS,
        devices=_devices(options),
    )


_AXIS = "devices"
"""Axis name of a pmap without `--axis-name`. JAX 0.8 would create a new one for each pmap, and the
traced program would fit only that one."""


def _pmap_function(
    function: Callable[..., Any], options: PmapOptions, given: Mapping[str, Any]
) -> Any:
    parameters = list(inspect.signature(function).parameters)
    static = [parameters.index(name) for name in given.get("static_argnames", ())]
    donated = [parameters.index(name) for name in given.get("donate_argnames", ())]
    return jax.pmap(
        function,
        in_axes=in_axes(function, options.axes),
        out_axes=options.out_axes,  # type: ignore[arg-type]
        static_broadcasted_argnums=static,
        donate_argnums=donated,
        axis_name=options.axis_name or None,
        devices=_devices(options),
    )


def _devices(options: PmapOptions) -> list[Any] | None:
    return None if options.devices is None else jax.local_devices()[: options.devices]


# grad


def _grad_below(options: GradOptions, level: Level) -> Level:
    derivatives.check(options, level)
    return level


def _grad_block(program: Program, options: GradOptions, place: TransformContext) -> Program:
    inside = [segment.name for segment in place.inside]

    def value_of(function: Callable[[Any], Any], tree: Any) -> Any:
        innermost = all(name == "jit" for name in inside)
        return place.base.value if innermost else jax.eval_shape(function, tree)

    made = derivatives.Derivative(options, place.level, inside, place.loss_line)
    return made.of_program(program, value_of)


TRANSFORMS: Mapping[str, Transform] = {
    "jit": Transform(
        lambda options, level: level,
        _unchanged,
        lambda program, options, place: jax.jit(program),
        lambda function, options, given: jax.jit(function, **given),
        None,
    ),
    "grad": Transform(
        _grad_below,
        _unchanged,
        _grad_block,
        lambda f, options, given: derivatives.of_function(f, options, argnums(f, options.wrt)),
    ),
    "vmap": Transform(
        lambda options, level: level.mapped(level.axes(options.axes, "vmap")),
        _vmap_block,
        _vmap_block,
        lambda function, options, given: _vmap(function, in_axes(function, options.axes), options),
    ),
    "pmap": Transform(_pmap_below, _pmap_block, _pmap_block, _pmap_function),
}


def check(composition: Composition, where: str = "") -> None:
    """Raise TransformError for a composition that JAX allows for no program."""
    names = [segment.name for segment in composition.segments]
    if names.count("pmap") > 1:
        raise TransformError(
            f"{where}JAX does not allow `pmap` inside `pmap`: each maps over its own mesh of "
            "devices, and meshes do not nest. Use one pmap with vmap inside, or jax.shard_map over "
            "a mesh with two axes."
        )
    maps = [
        s.options for s in composition.segments if isinstance(s.options, (VmapOptions, PmapOptions))
    ]
    axes = [options.axis_name for options in maps if options.axis_name]
    if len(set(axes)) < len(axes):
        raise TransformError(f"{where}two maps have the same --axis-name; give each its own.")


def levels(composition: Composition, outermost: Level) -> list[Level]:
    """The level of each transform, outermost first, and last that of the program itself.

    Raises TransformError for axes and devices that do not fit.
    """
    found = [outermost]
    for segment in composition.segments:
        found.append(TRANSFORMS[segment.name].below(segment.options, found[-1]))
    return found


def transformed(
    composition: Composition, base: Base, seen: Sequence[Level], loss_line: int | None
) -> Program:
    """The program under all transforms but an outermost jit; traces `base` when it is called."""
    segments = composition.segments
    steps = [
        (
            TRANSFORMS[segment.name],
            segment.options,
            TransformContext(level, base, segments[n + 1 :], loss_line),
        )
        for n, (segment, level) in enumerate(zip(segments, seen, strict=False))
        if (n, segment.name) != (0, "jit")
    ]

    @calls_user_code
    def program(*packed: Any) -> tuple[Any, list[Any]]:
        if _has_context(composition, seen[0]):
            probe: Any = base.trace
            for transform, options, place in reversed(steps):
                probe = transform.maps(probe, options, place)
            jax.eval_shape(probe, *packed)
        else:
            base.trace(*seen[-1].packed_shapes())
        made: Program = base
        for transform, options, place in reversed(steps):
            made = transform.block(made, options, place)
        return made(*packed)

    return program


def _has_context(composition: Composition, outermost: Level) -> bool:
    """Whether the program must be traced inside its maps: it may name their axes or meshes."""
    named = any(
        isinstance(segment.options, PmapOptions)
        or (isinstance(segment.options, VmapOptions) and segment.options.axis_name)
        for segment in composition.segments
    )
    return bool(named) or outermost.has_explicit_sharding()


def decorated(
    composition: Composition, function: Callable[..., Any], given: Mapping[str, Any]
) -> Any:
    """The function under all transforms; `given` are the options of the outermost one."""
    made = function
    for number, segment in reversed(list(enumerate(composition.segments))):
        options = given if number == 0 else {}
        made = TRANSFORMS[segment.name].decorate(made, segment.options, options)
    return made


def entry_points_needed(composition: Composition) -> int | None:
    """Number of entry points that a cell in decorator form must have; None for any number."""
    needed = (TRANSFORMS[segment.name].entry_points for segment in composition.segments)
    return next((number for number in needed if number is not None), None)
