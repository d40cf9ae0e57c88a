"""Calls that JAX traced before jaxscope was listening, without placement and jit options."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from jaxscope.analysis.compiles.causes.signature import (
    ArgumentLeaf,
    CallSignature,
    Holder,
)
from jaxscope.capture import _jax
from jaxscope.capture.compiles.signature.functions import code_of
from jaxscope.capture.compiles.signature.reader import (
    SignatureReader,
    argument_names,
    declared_signature,
)
from jaxscope.capture.compiles.signature.wrapped_calls import as_written

_MOST = 64
_FUNCTIONS = 20_000


class EarlierTraces:
    """The functions that JAX had traced when the listener began."""

    def __init__(self, reader: SignatureReader) -> None:
        self._reader = reader
        self._traced: _jax.TracedFunctions | None = None
        self._codes: set[int] = set()
        self._seen: set[int] = set()
        self._lock = threading.RLock()  # a finalizer may compile while it is held

    def snapshot(self) -> None:
        """Note which functions JAX holds traces of; nothing when this JAX cannot list them."""
        self._traced = None
        self._traced = _jax.traced_functions()
        alive = self._traced.alive() if self._traced is not None else []
        self._codes = {code_of(fun, self._reader.ids) for fun in alive} - {0}

    def look_back(self, signature: CallSignature, call: _jax.JaxCall) -> tuple[CallSignature, ...]:
        """The calls with which JAX had traced this function, at its first compilation here.

        A function that is new has the calls of an earlier one with the same code.
        """
        fun = call.fun
        if fun is None or signature.eager:
            return ()
        first = self.first(signature.function.object_id)
        if not first or self._traced is None:
            return ()
        count = self._traced.count(fun)
        written = as_written(call)
        if written is not call:
            return self._by_equinox(signature, call, written, count)
        if not count:
            same = self._same_code(fun, signature)
            return self._read(same, call) if same is not None else ()
        # Under a transform the arguments are not those that the function is traced with.
        if signature.transform:
            return ()
        held = self._read(fun, call)
        if len(held) > count:
            now = comparable(signature).arguments
            held = tuple([one for one in held if comparable(one).arguments != now])
        # Which of more traces were there before is not known: JAX lists them in no order.
        return held if len(held) <= count else ()

    def _by_equinox(
        self, signature: CallSignature, call: _jax.JaxCall, written: _jax.JaxCall, count: int
    ) -> tuple[CallSignature, ...]:
        """`look_back` for a call whose function Equinox jits: one of its own for all of a name."""
        if not count or signature.transform:
            return ()
        code = code_of(written.fun, self._reader.ids)
        now = comparable(signature).arguments, signature.context
        held: list[CallSignature] = []
        for one in _jax.earlier_traces(call.fun):
            earlier = _earlier_call(call.fun, call, one)
            if code_of(as_written(earlier).fun, self._reader.ids) == code:
                found = self._signature(earlier, one)
                held += [found] if (comparable(found).arguments, found.context) != now else []
        return tuple(held) if len(held) <= min(count, _MOST) else ()

    def _same_code(self, fun: Any, signature: CallSignature) -> Any:
        """A function that was traced before, made by the same `def` or lambda; None without."""
        code = code_of(fun, self._reader.ids)
        if self._traced is None or code not in self._codes:
            return None
        alive = reversed(self._traced.alive())
        return next((one for one in alive if code_of(one, self._reader.ids) == code), None)

    def _read(self, fun: Any, call: _jax.JaxCall) -> tuple[CallSignature, ...]:
        found = _jax.earlier_traces(fun)
        if len(found) > _MOST:
            return ()
        return tuple([self._signature(_earlier_call(fun, call, one), one) for one in found])

    def first(self, function: int) -> bool:
        """Whether the function of this id is new here; always, without an id."""
        if function <= 0:
            return True
        with self._lock:
            first = function not in self._seen
            if first and len(self._seen) >= _FUNCTIONS:
                self._seen.clear()
            self._seen.add(function)
            return first

    def _signature(self, call: _jax.JaxCall, trace: _jax.EarlierTrace) -> CallSignature:
        context = () if trace.context is None else _jax.named_settings(trace.context)
        return replace(_with_leaves(self._reader.read(call), _without_holder), context=context)


def _earlier_call(fun: Any, call: _jax.JaxCall, trace: _jax.EarlierTrace) -> _jax.JaxCall:
    passed = {*argument_names(declared_signature(call), len(trace.args)), *trace.kwargs}
    omitted = tuple([name for name in call.static_argnames if name not in passed])
    return replace(
        call,
        fun=fun,
        args=trace.args,
        kwargs=trace.kwargs,
        static_argnums=trace.static_argnums,
        static_argnames=(*trace.static_argnames, *omitted),
        given=None,
        transforms=(),
    )


def comparable(call: CallSignature) -> CallSignature:
    """A call without what such a trace does not tell: placement, and options of the jit."""
    return _with_leaves(call, _without_placement)


def _with_leaves(
    call: CallSignature, change: Callable[[ArgumentLeaf], ArgumentLeaf]
) -> CallSignature:
    arguments = [
        replace(argument, leaves=tuple([change(leaf) for leaf in argument.leaves]))
        for argument in call.arguments
    ]
    return replace(call, arguments=tuple(arguments), options=())


def _without_placement(leaf: ArgumentLeaf) -> ArgumentLeaf:
    return replace(leaf, committed=False, place="", spread=False, layout="")


def _without_holder(leaf: ArgumentLeaf) -> ArgumentLeaf:
    return ArgumentLeaf(leaf.shape, leaf.dtype, 0, leaf.weak, Holder.OTHER, type="value")
