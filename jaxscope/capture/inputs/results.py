"""Outcome of a trace: results of the program, and values that existed before it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from numbers import Number
from typing import Any

import jax
from jax.core import Tracer

from jaxscope import words
from jaxscope.analysis.python.cell import CellSyntax
from jaxscope.capture.inputs import nnx, pytrees
from jaxscope.capture.inputs.inputs import Substituted
from jaxscope.capture.inputs.mutation import find_tracer
from jaxscope.capture.options.refusals import RefusedError, holds_tracer
from jaxscope.model.program import NNX_STATE

# JAX's text of a tracer: `Traced<float32[3]>with<…>`, `JitTracer(float32[3])` (0.8 to 0.12).
_TRACER_TEXT = re.compile(r"traced<|\b\w*tracer[(<]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Names and values as the trace left them, tracers included."""

    names: Mapping[str, Any]
    deleted: tuple[str, ...]
    value: Any
    shown: Sequence[Any]
    """Values that the cell shows before that one."""
    traced: list[Any]
    """The program's outputs: each tracer among the results, once."""
    objects: nnx.After | None
    _: KW_ONLY
    finalizer: Callable[[Sequence[Any]], Callable[[Any], Any]]
    """From the program's results, a function that replaces the tracers in a value by them."""
    original: Callable[[Any], Any]
    """The user's container that a copy replaces; any other value itself."""
    labels: tuple[str, ...]
    """Destination of each output: `y`, `params['w']`, `Out`."""
    given: tuple[Any, ...]
    """The user's arrays and numbers that are results as they are, and no outputs."""

    def finalized(self, results: Sequence[Any]) -> tuple[dict[str, Any], Any, Callable[[Any], Any]]:
        """Names and the last value with results in place of tracers, and the function doing it."""
        finalize = self.finalizer(results)
        names = {name: finalize(value) for name, value in self.names.items()}
        return names, finalize(self.value), finalize


@dataclass(slots=True)
class OutcomeReader:
    """Reads the outcome of one trace."""

    inputs: Substituted
    split: nnx.Split | None
    syntax: CellSyntax
    namespace_id: int = 0
    _traced: dict[int, Any] = field(default_factory=dict[int, Any])
    _labels: list[str] = field(default_factory=list[str])
    _seen: dict[int, Any] = field(default_factory=dict[int, Any])
    _given: dict[int, Any] = field(default_factory=dict[int, Any])
    _new_objects: dict[int, Any] = field(default_factory=dict[int, Any])
    _names: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def read(
        self,
        names: Mapping[str, Any],
        deleted: tuple[str, ...],
        value: Any,
        shown: Sequence[Any] = (),
    ) -> Outcome:
        """Collect the tracers of all results. Raises RefusedError where one would be kept."""
        self._names = names
        for name, bound in names.items():
            self._collect(name, name, bound)
        for one in (*shown, value):
            self._collect("Out", "Out", one)
        merged = self.inputs.merged
        after = None if merged is None else merged.after()
        if after is not None:
            if not after.same_structure:
                raise RefusedError(
                    "the cell adds, removes or replaces parts of a Flax NNX object, but a compiled "
                    "program cannot do that. Build the object in a cell without the magic."
                )
            new = [v for v in after.values() if isinstance(v, Tracer)]
            if self.inputs.mapped and any(id(v) not in self.inputs.originals for v in new):
                raise RefusedError(
                    "the cell changes the state of a Flax NNX object, but under a map each example "
                    "has its own new state. Use `model.eval()`, or update the object in a cell "
                    "without the map."
                )
            for state in after.values():
                self._collect(NNX_STATE, NNX_STATE, state)
        for made in list(self._new_objects.values()):
            for state in jax.tree_util.tree_leaves(nnx.state_of(made)):
                self._collect(NNX_STATE, NNX_STATE, state)
        return Outcome(
            dict(names),
            deleted,
            value,
            shown,
            list(self._traced.values()),
            after,
            finalizer=self._finalizer,
            original=self.inputs.copies.original,
            labels=tuple(self._labels),
            given=tuple(self._given.values()),
        )

    def _collect(self, name: str, path: str, value: Any) -> None:
        if isinstance(value, Tracer):
            if id(value) in self.inputs.originals:
                if name != NNX_STATE:
                    self._keep(value)
            elif id(value) not in self._traced:
                self._traced[id(value)] = value
                self._labels.append(path)
            return
        if value in self.inputs.copies or id(value) in self._seen:
            self._keep(value)
            return
        if nnx.is_nnx(value):
            if self._counterpart(value) is None:
                self._new_objects[id(value)] = value
                self._check_static(name, value, nnx.graph_of(value))
            return
        level = pytrees.children(value)
        if level is not None:
            self._seen[id(value)] = value
            self._check_static(name, value, pytrees.static_part(value))
            for key, child in zip(level[0], level[1], strict=True):
                if isinstance(key, str):
                    self._collect(name, path, key)
                self._collect(name, path + pytrees.key_text(key), child)
            return
        if isinstance(value, str):
            if _TRACER_TEXT.search(value):
                raise holds_tracer(name, "the text of an array", self.syntax)
            return
        if not isinstance(value, jax.Array) and find_tracer(value, {self.namespace_id}):
            kind = type(value).__name__
            kind = "jitted function" if kind == "PjitFunction" else kind
            what = f"an array inside {words.a(kind)}"
            raise holds_tracer(name, what, self.syntax, self._numbers_for(name))

    def _keep(self, value: Any) -> None:
        """Note an input, or what is in a container of inputs, as a result."""
        if id(value) in self.inputs.originals:
            self._given[id(value)] = self.inputs.originals[id(value)][1]
        elif id(value) not in self._seen and value in self.inputs.copies:
            self._seen[id(value)] = value
            level = pytrees.children(value)
            for child in () if level is None else level[1]:
                self._keep(child)

    def _check_static(self, name: str, value: Any, static: Any) -> None:
        """Raise RefusedError where the part of a pytree that JAX does not trace keeps a tracer."""
        if static is not None and find_tracer(static, {self.namespace_id}):
            what = f"an array in a static field of {words.a(type(value).__name__)}"
            raise holds_tracer(name, what, self.syntax, self._numbers_for(name))

    def _numbers_for(self, name: str) -> list[str]:
        """The Python numbers among the inputs that the name is bound from, and nothing traced."""
        inputs = self.inputs
        used = self.syntax.names_bound_with(name)
        known = {n: inputs.values.get(n, self._names.get(n)) for n in sorted(used)}
        traced = {n: value for n, value in known.items() if find_tracer(value)}
        originals = [inputs.originals.get(id(value)) for value in traced.values()]
        numbers = all(pair is not None and isinstance(pair[1], Number) for pair in originals)
        return list(traced) if numbers else []

    def _finalizer(self, results: Sequence[Any]) -> Callable[[Any], Any]:
        by_tracer = dict(zip(self._traced, results, strict=True))
        done: dict[int, tuple[Any, Any]] = {}

        def finalize(value: Any) -> Any:
            if isinstance(value, Tracer):
                if id(value) in by_tracer:
                    return by_tracer[id(value)]
                return self.inputs.originals[id(value)][1]
            if value in self.inputs.copies:
                return self.inputs.copies.original(value)
            if id(value) in done:
                return done[id(value)][1]
            if id(value) in self._new_objects:
                made = nnx.rebuilt(value, finalize)
                done[id(value)] = (value, made)
                return made
            if nnx.is_nnx(value):
                return self._counterpart(value)
            level = pytrees.children(value)
            if level is None:
                return value
            if pytrees.is_builtin(value):
                done[id(value)] = (value, value)
                for key, child in zip(level[0], level[1], strict=True):
                    new = finalize(child)
                    if new is not child:
                        value[key] = new
                return value
            new_children = [finalize(child) for child in level[1]]
            same = all(a is b for a, b in zip(new_children, level[1], strict=True))
            made = value if same else level[2](new_children)
            done[id(value)] = (value, made)
            return made

        return finalize

    def _counterpart(self, value: Any) -> Any:
        merged = self.inputs.merged
        if merged is None or self.split is None:
            return None
        return merged.counterpart(value, self.split.objects)
