"""Calls that JAX traced before jaxscope was listening: shapes, dtypes, statics, trace context."""

from __future__ import annotations

import threading
from typing import Any

from jaxscope.analysis.compiles.causes.signature import (
    BARE,
    ArgumentLeaf,
    CallSignature,
    Holder,
    TracedArgument,
)
from jaxscope.capture import _jax
from jaxscope.capture.compiles.signature.reader import parameter_names
from jaxscope.capture.compiles.signature.values import ObjectIds, short_dtype, static_argument

_MOST = 16
_FUNCTIONS = 20_000


class EarlierTraces:
    """The functions that JAX had traced when the listener began."""

    def __init__(self, ids: ObjectIds) -> None:
        self._ids = ids
        self._traced: _jax.TracedFunctions | None = None
        self._seen: dict[int, bool | None] = {}
        self._lock = threading.RLock()  # a finalizer may compile while it is held

    def snapshot(self) -> None:
        """Note which functions JAX holds traces of; nothing when this JAX cannot list them."""
        self._traced = None
        self._traced = _jax.traced_functions()

    def look_back(
        self, signature: CallSignature, call: _jax.JaxCall
    ) -> tuple[bool | None, tuple[CallSignature, ...]]:
        """Whether JAX had traced this function before its first compilation here, None when
        unknown; and, for that compilation, with which calls."""
        fun = call.fun
        if fun is None or signature.eager:
            return None, ()
        count = None if self._traced is None else self._traced.count(fun)
        first, traced = self.first(
            signature.function.object_id, None if count is None else count > 0
        )
        # Under a transform the arguments are not those that the function is traced with.
        if not first or not count or signature.transform:
            return traced, ()
        found = _jax.earlier_traces(fun)[:count]
        places = [p for trace in found for p, _ in trace.statics if isinstance(p, int)]
        names = parameter_names(call, max(places, default=-1) + 1)
        return traced, tuple([self._signature(signature, names, one) for one in found[-_MOST:]])

    def first(self, function: int, traced: bool | None) -> tuple[bool, bool | None]:
        """Whether the function of this id is new here, and `traced` as of then."""
        if function <= 0:
            return True, None
        with self._lock:
            first = function not in self._seen
            if first and len(self._seen) >= _FUNCTIONS:
                self._seen.clear()
            return first, self._seen.setdefault(function, traced)

    def _signature(
        self, call: CallSignature, names: list[str], trace: _jax.EarlierTrace
    ) -> CallSignature:
        arguments = [TracedArgument(name, BARE, (_leaf(aval),)) for name, aval in trace.leaves]
        statics = [
            static_argument(place, value, self._ids, keyword=True)
            if isinstance(place, str)
            else static_argument(names[place], value, self._ids, keyword=False)
            for place, value in trace.statics
        ]
        return CallSignature(
            call.function,
            tuple(arguments),
            tuple(statics),
            call.parameters,
            context=() if trace.context is None else _jax.named_settings(trace.context),
        )


def flat_call(call: CallSignature) -> CallSignature:
    """A call in the form of such a trace."""
    arguments = [
        TracedArgument(argument.name + path, BARE, (_bare(leaf.shape, leaf.dtype, leaf.weak),))
        for argument in call.arguments
        for path, leaf in zip(argument.structure.paths, argument.leaves, strict=False)
    ]
    return CallSignature(
        call.function, tuple(arguments), call.statics, call.parameters, context=call.context
    )


def _leaf(aval: Any) -> ArgumentLeaf:
    return _bare(
        tuple(getattr(aval, "shape", ())),
        short_dtype(getattr(aval, "dtype", "?")),
        bool(getattr(aval, "weak_type", False)),
    )


def _bare(shape: tuple[int, ...], dtype: str, weak: bool) -> ArgumentLeaf:
    return ArgumentLeaf(shape, dtype, 0, weak, Holder.OTHER, type="value")
