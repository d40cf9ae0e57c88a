"""Plain functions as a plan: what `jaxscope.compare` is given."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from jaxscope.bench.cell import inputs as typed
from jaxscope.bench.cell.casting import Casting
from jaxscope.bench.cell.framework import framework
from jaxscope.bench.cell.line import assignments
from jaxscope.bench.cell.plan import Prepared, axes, limits, positions
from jaxscope.bench.cell.request import Request
from jaxscope.bench.cell.sections import SHARED, C, CellError, listing, resolve
from jaxscope.bench.plan import Entry, Plan, Progress

Code = Callable[..., Any] | str
Given = Code | tuple[str, Code]
Inputs = Mapping[str, Any] | Sequence[Any] | Callable[..., Any] | str | None


def functions_plan(
    contestants: Mapping[str, Given] | Callable[..., Any],
    inputs: Inputs,
    request: Request,
    known: Collection[str],
    default: Sequence[str],
    *,
    title: str = "",
    baseline: str = "",
    reference: Callable[..., Any] | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Prepared:
    """The plan of functions that take the inputs in order.

    `contestants` names each function by its contestant (`numpy`, `jax: by hand`), or by any label
    if what it calls tells the framework, or it is a pair of contestant and function. One function
    alone runs with every contestant of `request.vs`, its first parameter being the namespace `xp`.

    Raises CellError for what cannot be told.
    """
    entries = _entries(contestants, request, known, default)
    has_jax = any(entry.contestant.startswith("jax") for entry in entries)
    maker = _Maker(inputs, request, entries, Casting(request.dtype, has_jax))
    first = maker.names(request.sizes[0] if request.sizes else {})
    for entry in entries:
        _check_order(entry, first)
    if baseline and baseline not in {entry.label for entry in entries}:
        there = listing([f"`{entry.label}`" for entry in entries], "and")
        raise CellError(f"The baseline `{baseline}` is not compared; there are {there}.")
    plan = Plan(
        entries,
        maker.inputs,
        maker.estimated_bytes,
        tuple(request.sizes),
        request.devices,
        grad=positions(request.grad, first, "grad"),
        vmap=axes(request.vmap, first),
        mode=request.mode,
        baseline=baseline,
        check=request.check,
        tolerance=request.tolerance,
        reference=reference,
        limits=limits(request.time_limit, len(request.sizes)),
        sessions=request.sessions,
        seed=request.seed,
        title=title,
        progress=progress,
    )
    return Prepared(plan, maker.casting)


class _Maker:
    """Makes the inputs of a size, by name and in order."""

    def __init__(
        self, given: Inputs, request: Request, entries: Sequence[Entry], casting: Casting
    ) -> None:
        self._given = given
        self._request = request
        self._parameters = _parameters(entries)
        self.casting = casting
        self._specs: dict[str, typed.Spec] = {}
        if isinstance(given, str):
            self._specs = {name: typed.spec(name, text) for name, text in assignments(given)}
        elif isinstance(given, Mapping):
            self._specs = {
                name: typed.spec(name, value)
                for name, value in given.items()
                if isinstance(value, str)
            }

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
            name: self.casting(name, value, generated=name in self._specs)
            for name, value in found.items()
        }

    def estimated_bytes(self, size: Mapping[str, Any]) -> int:
        return sum(typed.estimated_bytes(one, size, 8) for one in self._specs.values())

    def _raw(self, size: Mapping[str, Any]) -> dict[str, Any]:
        given = self._given
        if given is None:
            return {}
        if isinstance(given, str | Mapping):
            names: dict[str, Any] = {**typed.makers(self._request.seed), **size}
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
    contestants: Mapping[str, Given] | Callable[..., Any],
    request: Request,
    known: Collection[str],
    default: Sequence[str],
) -> tuple[Entry, ...]:
    if isinstance(contestants, Mapping):
        if not contestants:
            raise CellError("There is nothing to compare: no contestant was given.")
        return tuple([_entry(label, given, known) for label, given in contestants.items()])
    names = [resolve(name, known) for name in request.vs] or list(default)
    if not _takes_namespace(contestants):
        raise CellError(
            f"One function for all contestants takes their namespace first, as in "
            f"`def f({SHARED}, x)`; `{getattr(contestants, '__name__', 'this one')}` does not. "
            'Give a function each otherwise: compare({"numpy": f, "jax": g}, …).'
        )
    return tuple([Entry(name, name, contestants, namespaced=True) for name in names])


def _entry(label: str, given: Given, known: Collection[str]) -> Entry:
    if isinstance(given, tuple):
        name, code = given
        return _made(label, resolve(name, known), code)
    try:
        contestant = resolve(label.partition(":")[0], known)
    except CellError:
        found = None if isinstance(given, str) else framework(given)
        if found is None:
            raise CellError(
                f"`{label}` names no contestant, and its code does not tell one. Give a pair, such "
                f'as {{"{label}": ("numpy", f)}} for code that takes NumPy arrays. '
                f"The contestants are {listing(sorted(known), 'and')}."
            ) from None
        contestant = found
    return _made(label, contestant, given)


def _made(label: str, contestant: str, code: Code) -> Entry:
    if isinstance(code, str) and contestant != C:
        raise CellError(
            f"`{label}` is given as text; only `c` takes source code, others functions."
        )
    if not isinstance(code, str) and not callable(code):
        raise CellError(f"`{label}` is {type(code).__name__}, which cannot be called.")
    return Entry(label, contestant, code, not isinstance(code, str) and _takes_namespace(code))


def _takes_namespace(function: Callable[..., Any]) -> bool:
    names = _names_of(function)
    return bool(names) and names[0] == SHARED


def _names_of(function: Callable[..., Any]) -> list[str]:
    """Names of the positional parameters; none where the function does not tell."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [one.name for one in parameters if one.kind in kinds]


def _parameters(entries: Sequence[Entry]) -> list[str]:
    for entry in entries:
        if not isinstance(entry.function, str):
            names = _names_of(entry.function)
            if names:
                return names[1:] if entry.namespaced else names
    return []


def _check_order(entry: Entry, inputs: Sequence[str]) -> None:
    """Inputs go in by position: names that say another order are a slip that must be said."""
    if isinstance(entry.function, str):
        return
    own = _names_of(entry.function)[int(entry.namespaced) :]
    own = own[: len(inputs)]
    if set(own) == set(inputs) and own != list(inputs):
        raise CellError(
            f"`{entry.label}` takes ({', '.join(own)}), and the inputs are "
            f"({', '.join(inputs)}): they go in by position, so give them in the same order."
        )
