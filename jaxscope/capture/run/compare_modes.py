"""Forward and reverse mode of one function: traced, not compiled, unless they are to be timed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax

from jaxscope.analysis.jaxpr.dataflow import Region
from jaxscope.analysis.jaxpr.flops import region_flops
from jaxscope.capture.inputs.traced_or_static import choose
from jaxscope.capture.jaxpr.dataflow import RegionReader
from jaxscope.capture.jaxpr.reader import JaxprReader
from jaxscope.capture.options.settings import Settings, SettingsError
from jaxscope.capture.source.sources import SourceFiles
from jaxscope.model import DerivativeMode, DerivativeModes, DerivativeOrder

Function = Callable[..., Any]


def compare_modes(
    function: Function,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    argnums: int | Sequence[int],
    order: int,
    settings: Settings | None,
) -> DerivativeModes:
    """Both modes, and the orders up to `order`; timed under `settings`, if they are given.

    Raises SettingsError for arguments that cannot be differentiated, and what JAX raises.
    """
    chosen = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    _check(args, chosen, order)

    def is_dynamic(leaf: Any) -> bool:
        return choose(leaf).traced or isinstance(leaf, jax.ShapeDtypeStruct)

    dynamic = [i for i, arg in enumerate(args) if all(map(is_dynamic, jax.tree.leaves(arg)))]

    def call(*values: Any) -> Any:
        whole = list(args)
        for index, value in zip(dynamic, values, strict=True):
            whole[index] = value
        return function(*whole, **kwargs)

    values = [args[i] for i in dynamic]
    places = tuple(dynamic.index(i) for i in chosen)
    inside = places[0] if isinstance(argnums, int) else places
    outputs = jax.eval_shape(call, *values)
    forward, reverse = jax.jacfwd(call, argnums=inside), jax.jacrev(call, argnums=inside)
    return DerivativeModes(
        sum(_size(leaf) for i in chosen for leaf in jax.tree.leaves(args[i])),
        sum(_size(leaf) for leaf in jax.tree.leaves(outputs)),
        _mode(forward, values, [args[i] for i in chosen], settings),
        _mode(reverse, values, outputs, settings),
        tuple(_orders(call, values, inside, order)),
    )


def _check(args: Sequence[Any], chosen: Sequence[int], order: int) -> None:
    if order < 0:
        raise SettingsError(f"order is {order}; it must be 0 or more.")
    for index in chosen:
        if not 0 <= index < len(args):
            raise SettingsError(
                f"argnums names argument {index}, and there are {len(args)} positional arguments."
            )
        for leaf in jax.tree.leaves(args[index]):
            kind = jax.numpy.result_type(leaf)
            if not jax.numpy.issubdtype(kind, jax.numpy.inexact):
                raise SettingsError(
                    f"Argument {index} holds {kind} values, which have no derivative; give floats."
                )


def _size(leaf: Any) -> int:
    return math.prod(jax.numpy.shape(leaf))


def _mode(
    function: Function, values: Sequence[Any], basis: Any, settings: Settings | None
) -> DerivativeMode:
    region = _flow(function, values)
    products = sum(_size(leaf) for leaf in jax.tree.leaves(basis))
    seconds = None if settings is None else _seconds(function, values, settings)
    return DerivativeMode(products, region_flops(region), region.size, seconds)


def _flow(function: Function, values: Sequence[Any]) -> Region:
    traced = jax.jit(function).trace(*values)
    return RegionReader().region(JaxprReader(SourceFiles()).body(traced.jaxpr))


def _seconds(function: Function, values: Sequence[Any], settings: Settings) -> float | None:
    from jaxscope.capture.run import run

    ran = run.call(jax.jit(function), values, {}, settings)
    call = ran.record.programs[0].call if ran.record.programs else None
    return None if call is None or not call.samples else call.median_s


def _orders(
    function: Function, values: Sequence[Any], argnums: int | tuple[int, ...], order: int
) -> list[DerivativeOrder]:
    """The function and its derivatives; each is traced, which grows with the order."""
    found: list[DerivativeOrder] = []
    by = ""
    for number in range(order + 1 if order else 0):
        if number:
            by, function = _next(function, values, argnums)
        region = _flow(function, values)
        found.append(DerivativeOrder(number, by, region.size, region_flops(region)))
    return found


def _next(
    function: Function, values: Sequence[Any], argnums: int | tuple[int, ...]
) -> tuple[str, Function]:
    """The derivative as one would take it: `grad` of a number, else the mode that fits."""
    outputs = jax.tree.leaves(jax.eval_shape(function, *values))
    if len(outputs) == 1 and outputs[0].shape == ():
        return "grad", jax.grad(function, argnums=argnums)
    chosen = (argnums,) if isinstance(argnums, int) else argnums
    inputs = sum(_size(leaf) for i in chosen for leaf in jax.tree.leaves(values[i]))
    if inputs <= sum(_size(leaf) for leaf in outputs):
        return "jacfwd", jax.jacfwd(function, argnums=argnums)
    return "jacrev", jax.jacrev(function, argnums=argnums)
