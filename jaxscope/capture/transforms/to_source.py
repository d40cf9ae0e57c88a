"""A composition of transforms as an expression of plain JAX, for `Report.to_python`."""

from __future__ import annotations

from collections.abc import Sequence

import jax

from jaxscope.capture.options.composition import (
    Composition,
    GradMode,
    GradOptions,
    PmapOptions,
    Segment,
    VmapOptions,
    root,
)
from jaxscope.capture.transforms.shapes import Level
from jaxscope.capture.transforms.wrt import select


def spelled(
    composition: Composition, levels: Sequence[Level], function: str, holomorphic: bool
) -> tuple[str, str]:
    """The expression, and a sentence about its value.

    The function takes the traced inputs by position; under a derivative it returns the value to
    differentiate and, as aux, the names that the cell binds.
    """
    text = function
    derived = False
    for segment, level in reversed(list(zip(composition.segments, levels, strict=False))):
        text = _one(segment, level, text, holomorphic)
        derived = derived or isinstance(segment.options, GradOptions)
    returns = "the names that the cell binds, then its last value"
    if derived:
        returns = "the derivative, then the names that the cell binds"
    return text, returns


def _one(segment: Segment, level: Level, inner: str, holomorphic: bool) -> str:
    match segment.options:
        case GradOptions() as options:
            return _derivative(options, level, inner, holomorphic)
        case VmapOptions() as options:
            return f"jax.vmap({', '.join([inner, *_mapped(options, level, 'vmap')])})"
        case PmapOptions() as options:
            given = _mapped(options, level, "pmap")
            if options.devices is not None:
                given.append(f"devices=jax.local_devices()[:{options.devices}]")
            return f"jax.pmap({', '.join([inner, *given])})"
        case _:
            return f"jax.jit({inner})"


def _mapped(options: VmapOptions | PmapOptions, level: Level, name: str) -> list[str]:
    shown: list[str] = []
    for tree in level.packed_axes(options.axes, name):
        leaves = jax.tree_util.tree_leaves(tree, is_leaf=lambda leaf: leaf is None)
        # One axis for a whole input where all its leaves have the same.
        shown.append(repr(leaves[0] if all(leaf == leaves[0] for leaf in leaves) else tree))
    parts = [f"in_axes=({shown[0]},)" if len(shown) == 1 else f"in_axes=({', '.join(shown)})"]
    if options.out_axes != 0:
        parts.append(f"out_axes={options.out_axes}")
    if options.axis_name:
        parts.append(f"axis_name={options.axis_name!r}")
    return parts


def _derivative(options: GradOptions, level: Level, inner: str, holomorphic: bool) -> str:
    parameters = list(level.arguments.packed)
    names = [root(name) for name in select(level, options.wrt).names]
    places = [parameters.index(name) for name in names if name in parameters]
    argnums = str(places[0]) if len(places) == 1 else str(tuple(places))
    if options.mode in (GradMode.JVP, GradMode.VJP):
        return _along(options, parameters, names, inner)
    keywords = f"argnums={argnums}, has_aux=True" + (", holomorphic=True" if holomorphic else "")
    function = str(options.mode)
    if options.mode is GradMode.GRAD and options.value and options.order == 1:
        function = "value_and_grad"
    for _ in range(options.order):
        inner = f"jax.{function}({inner}, {keywords})"
    return inner


def _along(
    options: GradOptions, parameters: Sequence[str], names: Sequence[str], inner: str
) -> str:
    every, chosen = ", ".join(parameters), ", ".join(names)
    ones = "jax.tree_util.tree_map(jax.numpy.ones_like, {})"
    function = f"lambda {chosen}: {inner}({every})"
    if options.mode is GradMode.JVP:
        tangents = ", ".join(options.tangents or [ones.format(name) for name in names])
        return (
            f"(lambda {every}: jax.jvp({function}, ({chosen},), ({tangents},), has_aux=True)[1:])"
        )
    cotangent = options.cotangent or ones.format("made[0]")
    pulled = f"made[1]({cotangent})" + ("[0]" if len(names) == 1 else "")
    return (
        f"(lambda {every}: (lambda made: ({pulled}, made[2]))"
        f"(jax.vjp({function}, {chosen}, has_aux=True)))"
    )
