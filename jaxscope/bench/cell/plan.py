"""From sections and a request to the plan that `jaxscope.bench.run` measures."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jaxscope.bench.cell.body import Body, body, parse
from jaxscope.bench.cell.c_code import COptions, c_function
from jaxscope.bench.cell.casting import Casting
from jaxscope.bench.cell.namespace import Surroundings
from jaxscope.bench.cell.remarks import remarks
from jaxscope.bench.cell.request import Request
from jaxscope.bench.cell.sections import (
    SETUP,
    SHARED,
    C,
    CellError,
    Section,
    listing,
    resolve,
    sections,
)
from jaxscope.bench.cell.timed_function import Timed
from jaxscope.bench.plan import Entry, Limits, Plan, Progress

_CALL_S = 20.0
_ROUNDS = 0.5
"""Of a time limit, what the rounds may take."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A plan, and what there is to say about how it was made."""

    plan: Plan
    casting: Casting
    remarks: tuple[str, ...] = ()
    """Sentences on the code: what it reads that cannot go in as an input."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences for the record, once it was measured."""
        return (*self.casting.notes, *self.remarks)


def cell_plan(
    text: str,
    request: Request,
    namespace: Mapping[str, Any],
    known: Collection[str],
    default: Sequence[str],
    *,
    file: str = "<cell>",
    title: str = "",
    progress: Callable[[Progress], None] | None = None,
) -> Prepared:
    """The plan of a cell whose `%%` line is line 1 and whose other lines are `text`.

    `default` are the contestants of a cell without sections and without `--vs`.
    Raises CellError and SyntaxError with the line of the cell, and what its set-up raises.
    """
    found = sections(text, known)
    setup = [one for one in found if one.name == SETUP]
    timed = _chosen([one for one in found if one.name != SETUP], request, known, default)
    around = Surroundings(
        namespace,
        request,
        [parse(one, file) for one in setup],
        file,
        has_jax=any(name.startswith("jax") for name, _ in timed),
    )
    recipe = Recipe(text, request, namespace, tuple(known), tuple(default), file)
    return _prepared(timed, around, recipe, file, title, progress)


def expression_plan(
    given: Sequence[tuple[str, str, str]],
    request: Request,
    namespace: Mapping[str, Any],
    *,
    title: str = "",
    progress: Callable[[Progress], None] | None = None,
) -> Prepared:
    """The plan of `%jaxbench f(x) vs g(x)`: (contestant, label, expression) of each."""
    timed = [
        (contestant, Section(contestant, label if label != contestant else "", 1, text))
        for contestant, label, text in given
    ]
    has_jax = any(name.startswith("jax") for name, _ in timed)
    around = Surroundings(namespace, request, has_jax=has_jax)
    labels = [label for _, label, _ in given]
    recipe = Recipe(tuple(given), request, namespace)
    return _prepared(timed, around, recipe, "<jaxbench>", title, progress, labels)


def _chosen(
    found: Sequence[Section],
    request: Request,
    known: Collection[str],
    default: Sequence[str],
) -> list[tuple[str, Section]]:
    """Which contestant runs which section, in the order of `--vs`, else of the cell."""
    shared = next((one for one in found if one.name == SHARED), None)
    own = {one.name: [o for o in found if o.name == one.name] for one in found if one is not shared}
    names = [resolve(name, known) for name in request.vs]
    if not names:
        names = list(own) if shared is None else [*dict.fromkeys([*default, *own])]
    chosen: list[tuple[str, Section]] = []
    for name in dict.fromkeys(names):
        if name in own:
            chosen += [(name, section) for section in own[name]]
        elif shared is not None:
            if name == C:
                raise CellError(
                    "C cannot run a source for all; give it a section `# c` of its own."
                )
            chosen.append((name, shared))
        else:
            raise CellError(
                f"--vs names `{name}`, and the cell has no section for it: it has "
                f"{listing([f'`# {one}`' for one in own], 'and')}."
            )
    return chosen


def _prepared(
    timed: Sequence[tuple[str, Section]],
    around: Surroundings,
    recipe: Recipe,
    file: str,
    title: str,
    progress: Callable[[Progress], None] | None,
    labels: Sequence[str] | None = None,
) -> Prepared:
    request = recipe.request
    first = request.sizes[0] if request.sizes else {}
    candidates = around.array_names(first)
    bodies: dict[int, Body] = {}
    for _, section in timed:
        if section.name != C and id(section) not in bodies:
            more = (SHARED,) if section.name == SHARED else ()
            bodies[id(section)] = body(section, (*candidates, *more), file)
    read = {name for one in bodies.values() for name in one.reads}
    in_c = [section for name, section in timed if name == C]
    words = {word for section in in_c for word in re.findall(r"[A-Za-z_]\w*", section.text)}
    inputs = tuple(name for name in candidates if name in read | words)
    made = {
        key: Timed(one, inputs, shared=key in _shared(timed), file=file)
        for key, one in bodies.items()
    }
    numbers = [name for name, one in around.outline(first).items() if type(one) is int]
    now: dict[str, Any] = {}

    def make_inputs(size: Mapping[str, float]) -> Mapping[str, Any]:
        found = around.inputs(size, inputs)
        for one in made.values():
            one.see(around.names(size))
        now.update(inputs=found, names=around.names(size))
        return found

    entries: list[Entry] = []
    for label, (contestant, section) in zip(labels or _labels(timed), timed, strict=True):
        if section.name == C:
            function = c_function(section, inputs, numbers)
            told = COptions(function, lambda: now["inputs"], lambda: now["names"])
            text = function.text(section.text, inputs)
            entries.append(Entry(label, contestant, text, options=told))
        else:
            code = made[id(section)]
            entries.append(Entry(label, contestant, code.function, code.namespaced))
    plan = CellPlan(
        tuple(entries),
        make_inputs,
        around.estimated_bytes,
        tuple(request.sizes),
        request.devices,
        grad=positions(request.grad, inputs, "--grad"),
        vmap=axes(request.vmap, inputs),
        mode=request.mode,
        check=request.check,
        tolerance=request.tolerance,
        limits=limits(request.time_limit, len(request.sizes)),
        sessions=request.sessions,
        seed=request.seed,
        title=title,
        progress=progress,
        recipe=dataclasses.replace(
            recipe, namespace=_only(recipe.namespace, {*read, *words, *around.reads, *inputs})
        ),
    )
    here = around.outline(first)
    shared = [one.reads for key, one in bodies.items() if key in _shared(timed)]
    return Prepared(plan, around.casting, remarks(read - set(inputs), shared, here))


def _only(namespace: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    return {name: namespace[name] for name in names if name in namespace}


def limits(time_limit: float | None, sizes: int = 1) -> Limits:
    """`--time-limit`: of the whole; one call that hangs may take a quarter of it.

    The rounds of a size take at most their share, so that compiling and the other sizes have
    theirs.
    """
    if time_limit is None:
        return Limits()
    return Limits(
        seconds=min(Limits().seconds, _ROUNDS * time_limit / max(sizes, 1)),
        total_s=time_limit,
        call_s=min(_CALL_S, time_limit / 4),
        compile_s=min(Limits().compile_s, time_limit),
    )


def _shared(timed: Sequence[tuple[str, Section]]) -> set[int]:
    return {id(section) for _, section in timed if section.name == SHARED}


def _labels(timed: Sequence[tuple[str, Section]]) -> list[str]:
    return [f"{name}: {one.label}" if one.label else name for name, one in timed]


def positions(given: Sequence[str] | None, inputs: Sequence[str], option: str) -> tuple[int, ...]:
    if given is None:
        return ()
    if not inputs:
        raise CellError(f"{option} needs an input, and the code reads no array.")
    _must_be_inputs(given, inputs, option)
    return tuple(inputs.index(name) for name in given) or (0,)


def axes(
    given: Sequence[tuple[str, int | None]] | None, inputs: Sequence[str]
) -> tuple[int | None, ...]:
    if given is None:
        return ()
    if not inputs:
        raise CellError("--vmap needs an input, and the code reads no array.")
    _must_be_inputs([name for name, _ in given], inputs, "--vmap")
    if not given:
        return (0,) * len(inputs)
    wanted = dict(given)
    return tuple(wanted.get(name) for name in inputs)


def _must_be_inputs(names: Sequence[str], inputs: Sequence[str], option: str) -> None:
    for name in names:
        if name not in inputs:
            raise CellError(
                f"{option} names `{name}`, which is no input of this benchmark: "
                f"its inputs are {listing([f'`{one}`' for one in inputs], 'and')}."
            )


@dataclass(frozen=True, slots=True)
class Recipe:
    """What `cell_plan` or `expression_plan` was called with."""

    code: str | Sequence[tuple[str, str, str]]
    """The cell's text, or the expressions."""
    request: Request
    namespace: Mapping[str, Any]
    """The user's names that the code reads."""
    known: Sequence[str] = ()
    default: Sequence[str] = ()
    file: str = ""


@dataclass(frozen=True, slots=True)
class CellPlan(Plan):
    """A plan with its recipe."""

    recipe: Recipe | None = None

    def __reduce__(self) -> Any:
        return rebuilt, (self.recipe, self.sessions, self.seed, self.limits, self.title)


def rebuilt(recipe: Recipe, sessions: int, seed: int, limits: Limits, title: str) -> Plan:
    """The plan, made anew by its recipe; `seed` orders the rounds, the inputs keep their own."""
    from jaxscope.bench.cell.plan import cell_plan, expression_plan

    if isinstance(recipe.code, str):
        prepared = cell_plan(
            recipe.code,
            recipe.request,
            recipe.namespace,
            recipe.known,
            recipe.default,
            file=recipe.file,
        )
    else:
        prepared = expression_plan(recipe.code, recipe.request, recipe.namespace)
    return dataclasses.replace(
        prepared.plan, sessions=sessions, seed=seed, limits=limits, title=title
    )
