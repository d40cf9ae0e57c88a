"""Calls that JAX traced before jaxscope listened: shapes and types are all that is known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from jaxscope.analysis.causes import BARE, Argument, Holder, Leaf, Signature
from jaxscope.capture.leaf import short_dtype

_MOST = 16


def traces(call: Signature, found: Sequence[Iterable[tuple[str, Any]]]) -> tuple[Signature, ...]:
    """Signatures of earlier traces of the function that this call is of."""
    return tuple([_signature(call, pairs) for pairs in found[-_MOST:]])


def _signature(call: Signature, pairs: Iterable[tuple[str, Any]]) -> Signature:
    arguments = [Argument(name, BARE, (_leaf(aval),)) for name, aval in pairs]
    return Signature(call.function, tuple(arguments))


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
    return Signature(call.function, tuple(arguments))


def _bare(leaf: Leaf) -> Leaf:
    return Leaf(leaf.shape, leaf.dtype, 0, leaf.weak, Holder.OTHER, "value")
