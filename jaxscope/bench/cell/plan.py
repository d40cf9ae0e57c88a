"""The plan of a benchmark cell or of expressions, for `jaxscope.bench.run`.

Its functions exist in this process only. A fresh process gets the source of the plan instead: the
text, the request and the user's names that the code reads.
"""

from __future__ import annotations

import dataclasses
import re
import types
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, TypeVar

from jaxscope import words
from jaxscope.bench.cell.arrays import holds_arrays, is_random_key
from jaxscope.bench.cell.c_code import COptions, c_function
from jaxscope.bench.cell.calls import (
    calls_jitted,
    expression_cell,
    fitting,
    function_cell,
    template,
)
from jaxscope.bench.cell.framework import framework
from jaxscope.bench.cell.inputs import BenchRequest
from jaxscope.bench.cell.namespace import CellNamespace, mutable_state
from jaxscope.bench.cell.sections import SETUP, SHARED, C, CellError, CellSection, resolve, sections
from jaxscope.bench.cell.timed_code import USUAL, TimedCode, TimedFunction, parse, timed_code
from jaxscope.bench.frameworks import registry
from jaxscope.bench.plan import Entry, Limits, Plan, Progress

P = TypeVar("P", bound=Plan)

_AS_WRITTEN = ("numpy", "jax-eager")
"""Implementations that compile nothing, so that no value is a constant to them."""
_OF_JAX = ("jax", "jax-eager")
_CALL_S = 20.0
_ROUNDS = 0.5
"""Of a time limit, the most that the rounds may take."""


@dataclass(frozen=True, slots=True)
class PlanSource:
    """The arguments from which a plan is built, here and in a fresh process."""

    code: str | Sequence[tuple[str, str, str]]
    """The cell's text from line 2 on, or (implementation, label, expression) of each expression."""
    request: BenchRequest
    namespace: Mapping[str, Any]
    known: Sequence[str] = ()
    """Names that may begin a section."""
    default: Sequence[str] = ()
    """The implementations of a cell without sections and without `--vs`."""
    _: KW_ONLY
    file: str = "<cell>"
    title: str = ""


@dataclass(frozen=True, slots=True)
class CellPlan(Plan):
    """A plan that is pickled as its source."""

    source: PlanSource | None = None

    def __reduce__(self) -> Any:
        return _rebuilt, (self.source, self.processes, self.seed, self.limits)


def _rebuilt(source: PlanSource, processes: int, seed: int, limits: Limits) -> Plan:
    """The plan of a source; `seed` orders the rounds, the inputs keep the seed of the request."""
    return dataclasses.replace(cell_plan(source), processes=processes, seed=seed, limits=limits)


@dataclass(frozen=True, slots=True)
class _Timed:
    """A section or an expression, and the implementation that runs it."""

    label: str
    implementation: str
    section: CellSection

    @property
    def in_c(self) -> bool:
        return self.section.name == C

    @property
    def shared(self) -> bool:
        return self.section.name == SHARED


def cell_plan(source: PlanSource, progress: Callable[[Progress], None] | None = None) -> CellPlan:
    """The plan of a cell, whose `%%` line is line 1, or of `%jaxbench f(x) vs g(x)`.

    Raises CellError and SyntaxError with the line of the cell, and the exceptions of its set-up.
    """
    file = source.file
    setup, timed, sizes, remarks = _read(source)
    request = dataclasses.replace(source.request, sizes=sizes)
    namespace = CellNamespace(
        source.namespace,
        request,
        [parse(one, file) for one in setup],
        file,
        uses_jax=registry.uses_jax([one.implementation for one in timed]),
    )
    first = request.sizes[0] if request.sizes else {}
    arrays = namespace.array_names(first)
    outline = namespace.outline(first)
    numbers = [name for name, value in outline.items() if type(value) in (int, float)]
    codes: dict[CellSection, TimedCode] = {}
    for one in timed:
        if not one.in_c and one.section not in codes:
            given = (*arrays, SHARED) if one.shared else arrays
            codes[one.section] = _timed_code(one.section, given, file, numbers)
    read = {name for code in codes.values() for name in code.reads}
    read_in_c = {
        word for one in timed if one.in_c for word in re.findall(r"[A-Za-z_]\w*", one.section.text)
    }
    inputs = tuple([name for name in arrays if name in read | read_in_c])
    functions = {
        section: TimedFunction(code, inputs, section.name == SHARED, file)
        for section, code in codes.items()
    }
    now: dict[str, Any] = {}
    kept = {*read, *read_in_c, *namespace.reads, *inputs}

    def make_inputs(size: Mapping[str, float]) -> Mapping[str, Any]:
        found = namespace.inputs(size, inputs)
        now.update(inputs=found, names=namespace.names(size))
        now["state"] = mutable_state(now["names"], kept)
        for function in functions.values():
            function.bind(now["names"])
        return found

    def entry(one: _Timed) -> Entry:
        if not one.in_c:
            made = functions[one.section]
            return Entry(one.label, one.implementation, made.function, made.namespaced)
        function = c_function(one.section, inputs, [n for n in numbers if type(outline[n]) is int])
        options = COptions(function, lambda: now["inputs"], lambda: now["names"])
        text = function.text(one.section.text, inputs)
        return Entry(one.label, one.implementation, text, options=options)

    shared = [code.reads for section, code in codes.items() if section.name == SHARED]
    if any(one.implementation not in _AS_WRITTEN for one in timed):
        remarks = (*remarks, *_constants(read - set(inputs), outline))
    if any(one.implementation not in _OF_JAX for one in timed):
        remarks = (*remarks, *_without_xp(shared, outline))
    plan = CellPlan(
        tuple([entry(one) for one in timed]),
        make_inputs,
        namespace.estimated_bytes,
        title=source.title,
        progress=progress,
        restore=lambda: now["state"].restore_libraries() if "state" in now else None,
        notes=lambda: (*namespace.casting.notes, *remarks),
        source=dataclasses.replace(
            source,
            request=request,
            namespace={name: value for name, value in source.namespace.items() if name in kept},
        ),
    )
    return requested(plan, request, inputs, "--")


def _timed_code(
    section: CellSection, inputs: Collection[str], file: str, numbers: Collection[str]
) -> TimedCode:
    """The code of a section; where a cell without sections cannot be read, the error has them."""
    try:
        return timed_code(section, inputs, file, numbers)
    except CellError as error:
        lines = template(parse(section, file), section.text) if section.line == 1 else ""
        if not lines:
            raise
        text = f"{error}\nOr write it as sections, and sizes as `--sizes n=16,64`:\n{lines}"
        raise CellError(text, error.line) from None


_Sizes = tuple[Mapping[str, int], ...]


def _read(source: PlanSource) -> tuple[list[CellSection], list[_Timed], _Sizes, tuple[str, ...]]:
    """The sections of the set-up, the timed ones in the order of `--vs`, else of the cell, the
    sizes, and notes on the code."""
    sizes, default = source.request.sizes, source.default
    if not isinstance(source.code, str):
        timed = [
            _Timed(label, implementation, CellSection(implementation, label, 1, text))
            for implementation, label, text in source.code
        ]
        return [], timed, sizes, ()
    found = sections(source.code, source.known)
    if not source.request.vs and [(one.name, one.line) for one in found] == [(SHARED, 1)]:
        tree = parse(found[0], source.file)
        text, space = found[0].text, source.namespace
        cell = function_cell(tree, text, space, sizes) or expression_cell(tree, text, space)
        if cell is not None:
            timed = [_Timed(label, one.name, one) for label, one in cell.timed]
            return [cell.setup], timed, cell.sizes or sizes, cell.notes
        if code := calls_jitted(tree, text, space):
            return [], [_Timed(code, "jax-eager", found[0])], sizes, ()
        default = fitting(tree, space, default)
    setup = [one for one in found if one.name == SETUP]
    shared = next((one for one in found if one.name == SHARED), None)
    own: dict[str, list[CellSection]] = {}
    for one in found:
        if one.name not in (SETUP, SHARED):
            own.setdefault(one.name, []).append(one)
    names = [resolve(name, source.known) for name in source.request.vs]
    if not names:
        names = list(own) if shared is None else [*default, *own]
    timed: list[_Timed] = []
    for name in dict.fromkeys(names):
        if name in own:
            timed += [
                _Timed(f"{name}: {one.label}" if one.label else name, name, one)
                for one in own[name]
            ]
        elif shared is None:
            there = words.names([f"# {one}" for one in own], len(own))
            raise CellError(f"--vs names `{name}`, but the cell has sections only for {there}.")
        elif name == C:
            raise CellError("C cannot run the shared source. Give it a section `# c` of its own.")
        else:
            timed.append(_Timed(name, name, shared))
    return setup, timed, sizes, ()


def requested(plan: P, request: BenchRequest, inputs: Sequence[str], dashes: str = "") -> P:
    """The plan with the settings of the request; `inputs` are the names of its inputs.

    `dashes` stand before the option names in messages. Raises CellError for names that are not
    inputs.
    """
    grad: tuple[int, ...] = ()
    vmap: tuple[int | None, ...] = ()
    if request.grad is not None:
        _check_inputs(request.grad, inputs, f"{dashes}grad")
        grad = tuple([inputs.index(name) for name in request.grad]) or (0,)
    if request.vmap is not None:
        axes = dict(request.vmap)
        _check_inputs(axes, inputs, f"{dashes}vmap")
        vmap = tuple([axes.get(name) for name in inputs]) if axes else (0,) * len(inputs)
    return dataclasses.replace(
        plan,
        sizes=tuple(request.sizes),
        devices=request.devices,
        grad=grad,
        vmap=vmap,
        mode=request.mode,
        check=request.check,
        tolerance=request.tolerance,
        limits=limits(request.time_limit, len(request.sizes)),
        processes=request.processes,
        seed=request.seed,
    )


def limits(time_limit: float | None, sizes: int = 1) -> Limits:
    """The limits under `--time-limit` for the whole; one call that hangs may take a quarter of it.

    The rounds of a size take at most its share of half the time, so that compiling and the other
    sizes have theirs.
    """
    if time_limit is None:
        return Limits()
    return Limits(
        seconds=min(Limits().seconds, _ROUNDS * time_limit / max(sizes, 1)),
        total_s=time_limit,
        call_s=min(_CALL_S, time_limit / 4),
        compile_s=min(Limits().compile_s, time_limit),
    )


def _check_inputs(names: Collection[str], inputs: Sequence[str], option: str) -> None:
    if not inputs:
        raise CellError(f"{option} needs an input, but the code reads no array.")
    for name in names:
        if name not in inputs:
            raise CellError(
                f"{option} names `{name}`, which is not an input. The inputs are "
                f"{words.names(inputs, len(inputs))}."
            )


def _constants(names: Collection[str], values: Mapping[str, Any]) -> Iterator[str]:
    """Notes on names that the code reads and that cannot be inputs."""
    for name in sorted(names):
        if name.startswith("_"):
            continue
        if holds_arrays(values.get(name)):
            yield (
                f"`{name}` holds arrays, so it is a constant to a compiler, not an input. Give its "
                "arrays names of their own."
            )
        elif is_random_key(values.get(name)):
            yield (
                f"`{name}` is a typed random key, so it is a constant to JAX's compiler, not an "
                f"input. Use `{name} = jax.random.PRNGKey(0)`, which is an array."
            )


def _without_xp(shared: Sequence[Collection[str]], values: Mapping[str, Any]) -> Iterator[str]:
    """Notes on shared sources, by the names that each reads, that call one framework directly."""

    def is_framework(name: str) -> bool:
        if name not in values:
            return name in USUAL
        value = values[name]
        return isinstance(value, types.ModuleType) and framework(value) is not None

    for reads in shared:
        used = [name for name in reads if is_framework(name)]
        if used and SHARED not in reads:
            yield (
                f"The shared source calls `{used[0]}` instead of `xp`, so all implementations run "
                "that framework's code. Write `xp`, or a section for each implementation."
            )
