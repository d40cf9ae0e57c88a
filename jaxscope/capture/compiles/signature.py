"""What a jitted function was called with, read from JAX's frames and kept as plain values.

Keeps no argument alive and reads no array's contents. What repeats is one object: a model's
thousand leaves are some ten kinds.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxscope.analysis.compiles.causes import (
    BARE,
    Argument,
    Body,
    Function,
    Leaf,
    Signature,
    Static,
)
from jaxscope.capture import _jax
from jaxscope.capture.compiles.cell_identity import current
from jaxscope.capture.compiles.object_ids import Serials
from jaxscope.capture.compiles.signature_arrays import Leaves, Structures
from jaxscope.capture.compiles.signature_functions import function
from jaxscope.capture.compiles.signature_values import carried, compares_by_identity, shortened
from jaxscope.model.compiles import CompileKind

_OPERATION_PARAMETERS = 24
_TUPLES = 256
_NUMPY_NUMBER = re.compile(r"np\.\w+\(([^()]*)\)")


class Reader:
    """Reads calls into signatures, and remembers what they have in common."""

    def __init__(self) -> None:
        self.serials = Serials()
        self._leaves = Leaves()
        self._structures = Structures()
        self._tuples: dict[tuple[int, ...], tuple[Leaf, ...]] = {}
        self._context: tuple[Any, tuple[tuple[str, str], ...]] = (None, ())

    def read(self, call: _jax.JaxCall) -> Signature:
        """The signature of a call; of what JAX's frames do not say, nothing."""
        if call.primitive is not None:
            return self._operation(call)
        args, kwargs = call.given or (call.args or (), call.kwargs or {})
        arguments: list[Argument] = []
        statics: list[Static] = []
        declared = _declared(call)
        names = argument_names(declared, len(args))
        static = {n if n >= 0 else len(args) + n for n in call.static_argnums}
        given = [*zip(names, args, strict=True), *[(name, kwargs[name]) for name in sorted(kwargs)]]
        for position, (name, value) in enumerate(given):
            keyword = position >= len(args)
            if (position in static and not keyword) or name in call.static_argnames:
                statics.append(self._static(name, value, keyword, position))
            else:
                arguments.append(self._argument(name, value, keyword, position))
        if call.given is not None:
            arguments = self._flat(arguments, call.args or ())
        return Signature(
            self._function(call),
            tuple(arguments),
            tuple(statics),
            _with_defaults(declared),
            len(args),
            _jax.jit_options(call.info),
            self._settings(),
            "∘".join(call.transforms),
            eager=call.is_eager,
        )

    def _flat(self, given: list[Argument], args: Sequence[Any]) -> list[Argument]:
        """The leaves that XLA gets, by the names of those that the user passed to the function
        under a transform; a transform may have put values of its own before them."""
        names = [(a.name + path, a.position) for a in given for path in a.structure.paths]
        if len(names) != len(args):
            names = [(f"arg{i}", i) for i in range(len(args))]
        return [
            Argument(name, BARE, self._leaves.of((value,)), position=position)
            for (name, position), value in zip(names, args, strict=True)
        ]

    def _function(self, call: _jax.JaxCall) -> Function:
        if call.fun is None:
            return Function(0, call.name or "?")
        known = function(call.fun, self.serials, call.name)
        origin = current()
        if origin is not None and call.kind is CompileKind.AOT:
            return origin.of(known, self.serials)
        return known

    def _operation(self, call: _jax.JaxCall) -> Signature:
        bodies: list[Body] = []
        statics: list[Static] = []
        for name, value in list((call.params or {}).items())[:_OPERATION_PARAMETERS]:
            found = _jax.bodies(value)
            if found:
                numbers = hash(tuple(self.serials.of(body) for body, _ in found))
                bodies.append(Body(name, ", ".join(text for _, text in found), numbers))
            elif value is not None:
                statics.append(Static(name, *_parameter(value), type(value).__name__))
        arguments = [
            self._argument(f"arg{i}", value, False, i) for i, value in enumerate(call.args or ())
        ]
        name = call.name or str(getattr(call.primitive, "name", "operation"))
        return Signature(
            Function(self.serials.of(call.primitive), name, internal=True),
            tuple(arguments),
            tuple(statics),
            positional=len(arguments),
            context=self._settings(),
            bodies=tuple(bodies),
            eager=True,
        )

    def _argument(self, name: str, value: Any, keyword: bool, position: int) -> Argument:
        structure, values = self._structures.of(value)
        leaves = self._leaves.of(values)
        if len(leaves) > 1:
            leaves = self._shared(leaves)
        return Argument(name, structure, leaves, keyword, position)

    def _shared(self, leaves: tuple[Leaf, ...]) -> tuple[Leaf, ...]:
        """The same tuple for the same leaves: a model's parameters come again on every call."""
        # Leaves are interned, and those of a known tuple live as long as it is known.
        key = tuple(map(id, leaves))
        known = self._tuples.get(key)
        if known is None:
            if len(self._tuples) >= _TUPLES:
                self._tuples.clear()
            known = self._tuples[key] = leaves
        return known

    def _static(self, name: str, value: Any, keyword: bool, position: int) -> Static:
        text, token = carried(value, self.serials)
        identity = compares_by_identity(value)
        if identity:
            token = self.serials.of(value)
        return Static(name, text, token, type(value).__name__, identity, keyword, position)

    def _settings(self) -> tuple[tuple[str, str], ...]:
        """JAX's settings by name: the same object as long as they are the same."""
        found = _jax.trace_context()
        if found is None:
            return ()
        known, texts = self._context
        if known is None or known != found:
            texts = _jax.named_settings(found)
            self._context = (found, texts)
        return texts


def _parameter(value: Any) -> tuple[str, int]:
    try:
        text = str(value) if isinstance(value, np.dtype) else repr(value)
    except Exception:  # what it holds may be the user's own
        text = f"{type(value).__name__} object"
    return shortened(_NUMPY_NUMBER.sub(r"\1", text)), hash(text)


def _declared(call: _jax.JaxCall) -> inspect.Signature | None:
    if call.signature is not None or call.fun is None:
        return call.signature
    try:
        return inspect.signature(call.fun)
    except (TypeError, ValueError):
        return None


def parameter_names(call: _jax.JaxCall, count: int) -> list[str]:
    """Names of the first `count` positional parameters of the called function."""
    return argument_names(_declared(call), count)


def _with_defaults(signature: inspect.Signature | None) -> tuple[str, ...]:
    if signature is None:
        return ()
    parameters = signature.parameters.values()
    return tuple([p.name for p in parameters if p.default is not p.empty])


def argument_names(signature: inspect.Signature | None, count: int) -> list[str]:
    """Names of `count` positional arguments; `args[1]` for a starred one, `arg0` when unknown."""
    names: list[str] = []
    for parameter in signature.parameters.values() if signature is not None else ():
        if parameter.kind is parameter.VAR_POSITIONAL:
            names += [f"{parameter.name}[{i}]" for i in range(count - len(names))]
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            names.append(parameter.name)
    names = names[:count]
    return names + [f"arg{i}" for i in range(len(names), count)]
