"""The plan of plain functions, for `jaxscope.compare`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from jaxscope import words
from jaxscope.bench.cell import inputs as typed
from jaxscope.bench.cell.arrays import Casting
from jaxscope.bench.cell.framework import framework
from jaxscope.bench.cell.inputs import BenchRequest
from jaxscope.bench.cell.line import assignments
from jaxscope.bench.cell.plan import requested
from jaxscope.bench.cell.sections import SHARED, C, CellError, resolve
from jaxscope.bench.frameworks import registry
from jaxscope.bench.plan import Entry, Plan, Progress

Code = Callable[..., Any] | str
Given = Code | tuple[str, Code]
Inputs = Mapping[str, Any] | Sequence[Any] | Callable[..., Any] | str | None


def functions_plan(
    implementations: Mapping[str, Given] | Callable[..., Any],
    inputs: Inputs,
    request: BenchRequest,
    known: Collection[str],
    default: Sequence[str],
    *,
    title: str = "",
    baseline: str = "",
    reference: Callable[..., Any] | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Plan:
    """The plan of functions that take the inputs in order.

    `implementations` names each function by its implementation (`numpy`, `jax: by hand`), or by
    any label if its own code shows its framework, or if it is a pair of implementation and
    function. One function alone runs with every implementation of `request.vs`; its first
    parameter is the namespace `xp`.

    Raises CellError for functions and inputs that do not fit.
    """
    entries = _entries(implementations, request, known, default)
    uses_jax = registry.uses_jax([entry.implementation for entry in entries])
    maker = _InputMaker(inputs, request, entries, Casting(request.dtype, uses_jax))
    first = maker.names(request.sizes[0] if request.sizes else {})
    for entry in entries:
        own = _parameters([entry])[: len(first)]
        if set(own) == set(first) and own != list(first):  # the inputs are positional
            raise CellError(
                f"`{entry.label}` takes ({', '.join(own)}), but the inputs are "
                f"({', '.join(first)}). Inputs are passed by position: give them in the order of "
                "the parameters."
            )
    labels = [entry.label for entry in entries]
    if baseline and baseline not in labels:
        there = words.names(labels, len(labels))
        raise CellError(f"The baseline `{baseline}` is not compared. There are {there}.")
    plan = Plan(
        entries,
        maker.inputs,
        maker.estimated_bytes,
        baseline=baseline,
        reference=reference,
        title=title,
        progress=progress,
        notes=maker.notes,
    )
    return requested(plan, request, first)


class _InputMaker:
    """The inputs of a size, by name and in order."""

    def __init__(
        self, given: Inputs, request: BenchRequest, entries: Sequence[Entry], casting: Casting
    ) -> None:
        self._given = given
        self._seed = request.seed
        self._parameters = _parameters(entries)
        self._casting = casting
        texts: list[tuple[str, str]] = []
        if isinstance(given, str):
            texts = assignments(given)
        elif isinstance(given, Mapping):
            texts = [(name, value) for name, value in given.items() if isinstance(value, str)]
        self._specs = {name: typed.spec(name, text) for name, text in texts}

    def names(self, size: Mapping[str, Any]) -> tuple[str, ...]:
        """Names of the inputs in order."""
        if self._specs and isinstance(self._given, str):
            return tuple(self._specs)
        if isinstance(self._given, Mapping):
            return tuple(self._given)
        return tuple(self._raw(size))

    def inputs(self, size: Mapping[str, Any]) -> Mapping[str, Any]:
        found = self._raw(size)
        return {
            name: self._casting(name, value, generated=name in self._specs)
            for name, value in found.items()
        }

    def estimated_bytes(self, size: Mapping[str, Any]) -> int:
        return sum(typed.estimated_bytes(one, size, 8) for one in self._specs.values())

    def notes(self) -> tuple[str, ...]:
        return self._casting.notes

    def _raw(self, size: Mapping[str, Any]) -> dict[str, Any]:
        given = self._given
        if given is None:
            return {}
        if isinstance(given, str | Mapping):
            names: dict[str, Any] = {**typed.makers(self._seed), **size}
            found: dict[str, Any] = {} if isinstance(given, str) else dict(given)
            for name, spec in self._specs.items():
                found[name] = typed.value(spec, {**names, **found})
            return found
        made = given(**size) if callable(given) else given
        if isinstance(made, Mapping):
            return dict(made)
        listed = list(made) if isinstance(made, list | tuple) else [made]
        named = [*self._parameters, *(f"x{i}" for i in range(len(self._parameters), len(listed)))]
        return dict(zip(named, listed, strict=False))


def _entries(
    implementations: Mapping[str, Given] | Callable[..., Any],
    request: BenchRequest,
    known: Collection[str],
    default: Sequence[str],
) -> tuple[Entry, ...]:
    if isinstance(implementations, Mapping):
        if not implementations:
            raise CellError("There is nothing to compare. Give at least one implementation.")
        return tuple([_entry(label, given, known) for label, given in implementations.items()])
    names = [resolve(name, known) for name in request.vs] or list(default)
    if not _takes_namespace(implementations):
        raise CellError(
            f"One function for all implementations takes their namespace first: `def f({SHARED}, "
            f"x)`. `{getattr(implementations, '__name__', 'This one')}` does not. Or give a "
            'function for each: compare({"numpy": f, "jax": g}, …).'
        )
    return tuple([Entry(name, name, implementations, namespaced=True) for name in names])


def _entry(label: str, given: Given, known: Collection[str]) -> Entry:
    if isinstance(given, tuple):
        name, code = given
        return _made(label, resolve(name, known), code)
    try:
        implementation = resolve(label.partition(":")[0], known)
    except CellError:
        found = None if isinstance(given, str) else framework(given)
        if found is None:
            raise CellError(
                f"`{label}` is not an implementation, and its code does not show one. Give a pair: "
                f'{{"{label}": ("numpy", f)}} for code that takes NumPy arrays. '
                f"The implementations are {words.listed(sorted(known))}."
            ) from None
        implementation = found
    return _made(label, implementation, given)


def _made(label: str, implementation: str, code: Code) -> Entry:
    if isinstance(code, str):
        if implementation != C:
            raise CellError(f"`{label}` is a string, but only `c` takes source text.")
        return Entry(label, implementation, code)
    if not callable(code):
        raise CellError(f"`{label}` is of type {type(code).__name__}, which cannot be called.")
    return Entry(label, implementation, code, _takes_namespace(code))


def _takes_namespace(function: Callable[..., Any]) -> bool:
    return _names_of(function)[:1] == [SHARED]


def _names_of(function: Callable[..., Any]) -> list[str]:
    """Names of the positional parameters; none for a function without a signature."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [one.name for one in parameters if one.kind in kinds]


def _parameters(entries: Sequence[Entry]) -> list[str]:
    for entry in entries:
        names = [] if isinstance(entry.function, str) else _names_of(entry.function)
        if names:
            return names[int(entry.namespaced) :]
    return []
