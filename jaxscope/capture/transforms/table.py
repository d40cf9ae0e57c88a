"""The table of transforms: what each makes of a traced program and of a function.

All forms of all magics go through it. A program under a stack is a function of packed inputs that
gives `(value, results)`: the value is what a derivative is taken of, the results are what the cell
binds. Each transform makes another such function of it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from jaxscope.capture.jaxpr.untransformed import Base
from jaxscope.capture.options.error_origin import calls_user_code
from jaxscope.capture.options.stack import (
    GradOptions,
    JitOptions,
    PmapOptions,
    Stack,
    TransformError,
    VmapOptions,
)
from jaxscope.capture.transforms import derivatives
from jaxscope.capture.transforms.parameters import argnums, in_axes
from jaxscope.capture.transforms.shapes import Level

Program = Callable[..., tuple[Any, list[Any]]]


@dataclass(frozen=True, slots=True)
class TransformContext:
    """Where a transform stands in its stack, and on what."""

    level: Level
    base: Base
    inside: Stack
    """The transforms below this one."""
    loss_line: int | None
    """Line of the statement whose value is transformed."""


@dataclass(frozen=True, slots=True)
class Transform:
    """One magic's way to turn Python into a function of JAX."""

    below: Callable[[Any, Level], Level]
    """What the function under it sees, from its options. Raises TransformError if it cannot be."""
    maps: Callable[[Program, Any, TransformContext], Program]
    """The part that must surround the trace of the program: its maps, without the rest."""
    block: Callable[[Program, Any, TransformContext], Program]
    decorate: Callable[[Callable[..., Any], Any, Mapping[str, Any]], Callable[..., Any]]
    """Of a function of the user's, and the options of `jax.jit` that apply to it, JAX's own."""
    roots: int | None = 1
    """How many roots the decorator form needs; None for any number."""


def _unchanged(program: Program, options: Any, place: TransformContext) -> Program:
    return program


# jit


def _jit_block(program: Program, options: JitOptions, place: TransformContext) -> Program:
    return jax.jit(program)


def _jit_function(
    function: Callable[..., Any], options: JitOptions, given: Mapping[str, Any]
) -> Any:
    return jax.jit(function, **given)


# vmap


def _vmap_below(options: VmapOptions, level: Level) -> Level:
    return level.mapped(level.axes(options.axes, "vmap"))


def _vmap_block(program: Program, options: VmapOptions, place: TransformContext) -> Program:
    axes = place.level.axes(options.axes, "vmap")
    return jax.vmap(
        program,
        in_axes=place.level.arguments.pack(axes),
        out_axes=options.out_axes,
        axis_name=options.axis_name or None,
    )


def _vmap_function(
    function: Callable[..., Any], options: VmapOptions, given: Mapping[str, Any]
) -> Any:
    return jax.vmap(
        function,
        in_axes=in_axes(function, options.axes),
        out_axes=options.out_axes,
        axis_name=options.axis_name or None,
    )


# pmap


def _pmap_below(options: PmapOptions, level: Level) -> Level:
    axes = level.axes(options.axes, "pmap")
    size, here = level.size(axes), len(jax.local_devices())
    if options.devices is not None and options.devices > here:
        raise TransformError(
            f"{level.where}--devices asks for {options.devices} devices, and there "
            f"{_are(here)}. {_simulate(options.devices)}"
        )
    if options.devices is not None and options.devices != size:
        raise TransformError(
            f"{level.where}the mapped axis has length {size}, and --devices asks for "
            f"{options.devices}: each device takes one slice. Reshape the inputs to "
            f"({options.devices}, …), or use `vmap` inside for more examples on each device."
        )
    if size > here:
        raise TransformError(
            f"{level.where}the mapped axis has length {size}, and there {_are(here)}: each device "
            f"takes one slice. {_fewer(here)} {_simulate(size)}"
        )
    return level.mapped(axes)


def _fewer(devices: int) -> str:
    """What to do with the examples that have no device."""
    if devices == 1:
        return "Take `vmap` for several examples on one device."
    return (
        f"Reshape the inputs to ({devices}, …), the examples of each device along the next axis, "
        "and put `vmap` inside."
    )


def _are(number: int) -> str:
    return "is 1 device" if number == 1 else f"are {number} devices"


def _simulate(number: int) -> str:
    return (
        f"To simulate {number} CPU devices, restart the kernel and run "
        f"`%jaxdevices --cpu {number}` before anything else uses JAX."
    )


def _pmap_block(program: Program, options: PmapOptions, place: TransformContext) -> Program:
    axes = place.level.axes(options.axes, "pmap")
    return jax.pmap(
        program,
        in_axes=place.level.arguments.pack(axes),
        out_axes=options.out_axes,  # type: ignore[arg-type]
        axis_name=options.axis_name or _AXIS,
        devices=_devices(options),
    )


_AXIS = "devices"
"""The axis of a pmap that the user gave no name. JAX 0.8 would make a new one for each pmap, and
the traced program could stand under no other."""


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

    return derivatives.of_program(program, options, place.level, value_of, inside, place.loss_line)


def _grad_function(
    function: Callable[..., Any], options: GradOptions, given: Mapping[str, Any]
) -> Any:
    return derivatives.of_function(function, options, argnums(function, options.wrt))


TRANSFORMS: Mapping[str, Transform] = {
    "jit": Transform(lambda _, level: level, _unchanged, _jit_block, _jit_function, None),
    "grad": Transform(_grad_below, _unchanged, _grad_block, _grad_function),
    "vmap": Transform(_vmap_below, _vmap_block, _vmap_block, _vmap_function),
    "pmap": Transform(_pmap_below, _pmap_block, _pmap_block, _pmap_function),
}


def check(stack: Stack, where: str = "") -> None:
    """Raise TransformError for a stack that JAX does not allow, whatever it is applied to."""
    names = [segment.name for segment in stack]
    if names.count("pmap") > 1:
        raise TransformError(
            f"{where}JAX does not allow `pmap` inside `pmap`: each is a map over a mesh of devices "
            "of its own, and meshes do not nest. Use one pmap with vmap inside, or jax.shard_map "
            "over a mesh of two axes."
        )
    given = [s.options.axis_name for s in stack if isinstance(s.options, VmapOptions | PmapOptions)]
    axes = [name for name in given if name]
    if len(set(axes)) < len(axes):
        raise TransformError(
            f"{where}two maps of this stack have the same --axis-name; give each its own."
        )


def levels(stack: Stack, outermost: Level) -> list[Level]:
    """What each transform of the stack sees, outermost first, and last what the program sees.

    Raises TransformError for axes and devices that do not fit.
    """
    found = [outermost]
    for segment in stack:
        found.append(TRANSFORMS[segment.name].below(segment.options, found[-1]))
    return found


def transformed(stack: Stack, base: Base, seen: Sequence[Level], loss_line: int | None) -> Program:
    """The program under all transforms but an outermost jit; traces `base` when it is called."""
    steps = [
        (
            TRANSFORMS[segment.name],
            segment.options,
            TransformContext(level, base, stack[n + 1 :], loss_line),
        )
        for n, (segment, level) in enumerate(zip(stack, seen, strict=False))
        if (n, segment.name) != (0, "jit")
    ]

    @calls_user_code
    def program(*packed: Any) -> tuple[Any, list[Any]]:
        if _has_context(stack, seen[0]):
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


def _has_context(stack: Stack, outermost: Level) -> bool:
    """Whether the program must be traced inside its maps: it may name their axes or meshes."""
    named = any(
        isinstance(segment.options, PmapOptions)
        or (isinstance(segment.options, VmapOptions) and segment.options.axis_name)
        for segment in stack
    )
    return bool(named) or outermost.has_explicit_sharding()


def decorated(stack: Stack, function: Callable[..., Any], given: Mapping[str, Any]) -> Any:
    """The function under all transforms; `given` goes to the outermost one that compiles."""
    made = function
    for number in reversed(range(len(stack))):
        segment = stack[number]
        options = given if number == 0 else {}
        made = TRANSFORMS[segment.name].decorate(made, segment.options, options)
    return made


def roots_needed(stack: Stack) -> int | None:
    """How many roots a cell in decorator form must have; None for any number."""
    return next((n for s in stack if (n := TRANSFORMS[s.name].roots) is not None), None)
