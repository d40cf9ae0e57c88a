"""Reads the call of a jitted function from JAX's frames into plain values.

Keeps no argument alive and reads no array's contents. Equal parts are one object: the thousand
leaves of a model are some ten distinct ones.
"""

from __future__ import annotations

import inspect
import re
import threading
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from jaxscope.analysis.compiles.causes.signature import (
    BARE,
    ArgumentLeaf,
    CallSignature,
    ControlFlowBody,
    JittedFunction,
    StaticArgument,
    Structure,
    TracedArgument,
)
from jaxscope.capture import _jax
from jaxscope.capture.compiles.signature.arrays import Leaves
from jaxscope.capture.compiles.signature.description import static_argument
from jaxscope.capture.compiles.signature.functions import attributes_below, current, function
from jaxscope.capture.compiles.signature.structures import Structures
from jaxscope.capture.compiles.signature.values import ObjectIds, shortened
from jaxscope.capture.compiles.signature.wrapped_calls import LIBRARY, as_written
from jaxscope.capture.source.cell_names import cell_name
from jaxscope.model.compiles import CompileKind
from jaxscope.model.program import NNX_STATE, TRANSFORM

_PLACE = re.compile(r" at ([^,\n]+?):(\d+)")
_OPERATION_PARAMETERS = 24
_TUPLES = 256
_NAME = re.compile(r"\w+")
_NUMPY_NUMBER = re.compile(r"np\.\w+\(([^()]*)\)")


def _unnamed(call: _jax.JaxCall) -> str:
    """Of a transform that is on the stack no more, as in a backward pass."""
    return f"a {TRANSFORM}" if call.kind is CompileKind.TRANSFORMED else ""


class SignatureReader:
    """Reads calls into signatures, and interns what they have in common."""

    def __init__(self) -> None:
        self.ids = ObjectIds()
        self._lock = threading.RLock()
        self._leaves = Leaves()
        self._structures = Structures(self.ids)
        self._tuples: dict[tuple[int, ...], tuple[ArgumentLeaf, ...]] = {}
        self._context: tuple[Any, tuple[tuple[str, str], ...]] = (None, ())

    def read(self, call: _jax.JaxCall) -> CallSignature:
        """The signature of a call, without the parts that JAX's frames do not show.

        Call it inside `own_work`: a value of the user's may compile to describe itself.
        """
        with self._lock:
            if call.primitive is not None:
                return self._operation(call)
            return self._call(as_written(call))

    def _call(self, call: _jax.JaxCall) -> CallSignature:
        args, kwargs = call.given or (call.args or (), call.kwargs or {})
        arguments: list[TracedArgument] = []
        statics: list[StaticArgument] = []
        declared = declared_signature(call)
        parameters = () if declared is None else declared.parameters.values()
        names = argument_names(declared, len(args))
        static = {n if n >= 0 else len(args) + n for n in call.static_argnums}
        given = [*zip(names, args, strict=True), *[(name, kwargs[name]) for name in sorted(kwargs)]]
        passed = {name for name, _ in given}
        cell = current() if call.kind is CompileKind.AOT else None
        paths = iter(() if cell is None else cell.paths)
        for position, (name, value) in enumerate(given):
            keyword = position >= len(args)
            if (position in static and not keyword) or name in call.static_argnames:
                statics.append(
                    static_argument(name, value, self.ids, keyword=keyword, position=position)
                )
            else:
                argument = self._argument(name, value, keyword, position)
                of_user = list(islice(paths, len(argument.leaves)))
                if cell is not None and name == NNX_STATE:
                    arguments += _objects(argument)
                else:
                    arguments.append(_with_paths(argument, of_user))
        if call.given is not None:
            arguments = self._flat(arguments, call.args or ())
        return CallSignature(
            self._function(call),
            tuple(arguments),
            tuple(statics),
            tuple([p.name for p in parameters if p.default is not p.empty]),
            omitted=tuple(
                [
                    static_argument(p.name, p.default, self.ids, keyword=True, position=i)
                    for i, p in enumerate(parameters)
                    if p.name in call.static_argnames and p.default is not p.empty
                    if p.name not in passed
                ]
            ),
            options=(*_jax.jit_options(call.info), *call.options),
            context=self._settings(),
            transform="∘".join(call.transforms) or _unnamed(call),
            eager=call.is_eager,
            filtered=call.declared is not None,
            complete=call.complete and bool(self._settings()),
            uncached=_jax.is_uncached(),
        )

    def _flat(self, given: list[TracedArgument], args: Sequence[Any]) -> list[TracedArgument]:
        """The leaves that XLA gets, with the names of those that the user passed to the function
        under a transform; a transform may put values of its own before them."""
        names = [(a.name + path, a.position) for a in given for path in a.structure.paths]
        if len(names) != len(args):
            names = [(f"arg{i}", i) for i in range(len(args))]
        return [
            TracedArgument(name, BARE, self._leaves.of((value,)), position=position)
            for (name, position), value in zip(names, args, strict=True)
        ]

    def _function(self, call: _jax.JaxCall) -> JittedFunction:
        if call.fun is None:
            return JittedFunction(0, call.name or "?", code_hash=_jax.outline(call.params))
        known = function(call.fun, self.ids, call.name)
        if known.module == LIBRARY:  # its one function stands for every module that is called
            known = replace(known, code_id=0, code_hash=0)
        cell = current()
        return cell.of(known, self.ids) if cell and call.kind is CompileKind.AOT else known

    def _operation(self, call: _jax.JaxCall) -> CallSignature:
        bodies: list[ControlFlowBody] = []
        statics: list[StaticArgument] = []
        for name, value in list((call.params or {}).items())[:_OPERATION_PARAMETERS]:
            found = _jax.bodies(value)
            functions = [self.ids.of(f) for f in _jax.body_functions(name)] if found else []
            if len(functions) != len(found):
                functions = [0] * len(found)
            for index, (body, text) in enumerate(found):
                at = f"{name}[{index}]" if len(found) > 1 else name
                own = _jax.jax_directory() not in text
                shown, number = _in_its_cell(text), self.ids.of(body)
                bodies.append(ControlFlowBody(at, shown, number, functions[index], own))
            if not found and value is not None:
                statics.append(StaticArgument(name, *_parameter(value), type(value).__name__))
        arguments = [
            self._argument(f"arg{i}", value, False, i) for i, value in enumerate(call.args or ())
        ]
        name = call.name or str(getattr(call.primitive, "name", "operation"))
        return CallSignature(
            JittedFunction(self.ids.of(call.primitive), name, internal=True),
            tuple(arguments),
            tuple(statics),
            context=self._settings(),
            bodies=tuple(bodies),
            eager=True,
            complete=call.complete and bool(self._settings()),
            uncached=_jax.is_uncached(),
        )

    def _argument(self, name: str, value: Any, keyword: bool, position: int) -> TracedArgument:
        structure, values = self._structures.of(value)
        leaves = self._leaves.of(values)
        if len(leaves) > 1:
            leaves = self._shared(leaves)
        return TracedArgument(name, structure, leaves, keyword, position)

    def _shared(self, leaves: tuple[ArgumentLeaf, ...]) -> tuple[ArgumentLeaf, ...]:
        """One tuple for the same leaves: every call repeats a model's parameters."""
        # Leaves are interned, and a known tuple keeps its leaves alive.
        key = tuple(map(id, leaves))
        known = self._tuples.get(key)
        if known is None:
            if len(self._tuples) >= _TUPLES:
                self._tuples.clear()
            known = self._tuples[key] = leaves
        return known

    def _settings(self) -> tuple[tuple[str, str], ...]:
        """JAX's settings by name: one object while they are equal."""
        found = _jax.trace_context()
        if found is None:
            return ()
        known, texts = self._context
        if known is None or known != found:
            texts = _jax.named_settings(found)
            self._context = (found, texts)
        return texts


def _with_paths(argument: TracedArgument, paths: Sequence[str]) -> TracedArgument:
    """An argument with the user's paths: `.w`, where a cell has packed it as `['w']`."""
    name, known = argument.name, argument.structure
    inside = tuple([path.removeprefix(name) for path in paths if path.startswith(name)])
    if len(inside) != len(known.paths) or inside == known.paths:
        return argument
    return replace(argument, structure=replace(known, paths=inside))


def _objects(given: TracedArgument) -> list[TracedArgument]:
    """The arrays of a cell's Flax NNX objects as arguments: `.kernel` of `model`."""
    paths = [path[2:-2] for path in given.structure.paths]  # the keys of a dictionary
    found: dict[str, list[tuple[str, ArgumentLeaf]]] = {}
    for path, leaf in zip(paths, given.leaves, strict=True):
        name = _NAME.match(path)
        root = name[0] if name is not None else given.name
        found.setdefault(root, []).append((path.removeprefix(root), leaf))
    return [
        replace(
            given,
            name=root,
            structure=Structure(hash(rest := tuple([path for path, _ in few])), rest),
            leaves=tuple([leaf for _, leaf in few]),
        )
        for root, few in found.items()
    ]


def _parameter(value: Any) -> tuple[str, int]:
    try:
        text = str(value) if isinstance(value, np.dtype) else repr(value)
    except Exception:  # a repr of the user's
        text = f"{type(value).__name__} object"
    return shortened(_NUMPY_NUMBER.sub(r"\1", text)), hash(text)


def static_reads(call: _jax.JaxCall) -> tuple[tuple[str, int], ...]:
    """Reads of the function of a call from its static arguments; see `attributes_below`."""
    args = call.args or ()
    names = argument_names(declared_signature(call), len(args))
    numbers = [n if n >= 0 else len(args) + n for n in call.static_argnums]
    static = {names[n]: args[n] for n in numbers if n < len(args)}
    kwargs = call.kwargs or {}
    static |= {name: kwargs[name] for name in call.static_argnames if name in kwargs}
    return attributes_below(call.fun, static)


def declared_signature(call: _jax.JaxCall) -> inspect.Signature | None:
    """Of the jitted function; None where Python cannot tell."""
    if call.signature is not None or call.fun is None:
        return call.signature
    try:
        return inspect.signature(call.fun)
    except (TypeError, ValueError):
        return None


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


def _in_its_cell(text: str) -> str:
    """`<lambda> at In [3], line 2` of a function whose file is a notebook's cell."""

    def named(found: re.Match[str]) -> str:
        cell = cell_name(found[1])
        return f" at {cell}, line {found[2]}" if cell else found[0]

    return _PLACE.sub(named, text)
