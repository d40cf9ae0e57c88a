"""Calls that JAX traced before jaxscope listened: shapes, types, statics and settings are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxscope.analysis.compiles.causes import BARE, Argument, Holder, Leaf, Signature, Static
from jaxscope.capture import _jax
from jaxscope.capture.compiles.object_ids import Serials
from jaxscope.capture.compiles.signature_values import carried, compares_by_identity, short_dtype

_MOST = 16


def traces(
    call: Signature,
    names: Sequence[str],
    found: Sequence[_jax.EarlierTrace],
    serials: Serials,
) -> tuple[Signature, ...]:
    """Signatures of earlier traces of the function that this call is of, whose positional
    parameters have these names."""
    return tuple([_signature(call, names, trace, serials) for trace in found[-_MOST:]])


def _signature(
    call: Signature, names: Sequence[str], trace: _jax.EarlierTrace, serials: Serials
) -> Signature:
    arguments = [Argument(name, BARE, (_leaf(aval),)) for name, aval in trace.leaves]
    statics: list[Static] = []
    for place, value in trace.statics:
        name = place if isinstance(place, str) else names[place]
        text, token = carried(value, serials)
        identity = compares_by_identity(value)
        token = serials.of(value) if identity else token
        keyword = isinstance(place, str)
        statics.append(Static(name, text, token, type(value).__name__, identity, keyword))
    context = () if trace.context is None else _jax.named_settings(trace.context)
    return Signature(
        call.function, tuple(arguments), tuple(statics), call.parameters, context=context
    )


def _leaf(aval: Any) -> Leaf:
    shape = tuple(getattr(aval, "shape", ()))
    weak = bool(getattr(aval, "weak_type", False))
    return Leaf(shape, short_dtype(getattr(aval, "dtype", "?")), 0, weak, Holder.OTHER, "value")


def flat_call(call: Signature) -> Signature:
    """A call as such a trace shows it."""
    arguments = [
        Argument(argument.name + path, BARE, (_bare(leaf),))
        for argument in call.arguments
        for path, leaf in zip(argument.structure.paths, argument.leaves, strict=False)
    ]
    return Signature(
        call.function, tuple(arguments), call.statics, call.parameters, context=call.context
    )


def _bare(leaf: Leaf) -> Leaf:
    return Leaf(leaf.shape, leaf.dtype, 0, leaf.weak, Holder.OTHER, "value")
