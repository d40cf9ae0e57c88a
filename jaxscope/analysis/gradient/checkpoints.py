"""What `jax.checkpoint` on a function of the user's would save, and what it would cost.

Estimated from the equations, and, where the program was compiled, from what XLA hands on to the
backward pass: it fuses, so it keeps less than the equations say. A call that is checkpointed
forgets what it made and keeps its inputs; when the backward pass reaches it, it makes everything
again, so one call's values are there while memory is fullest. A function that is called once
therefore saves nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from jaxscope.analysis.jaxpr.autodiff_phase import phase
from jaxscope.analysis.jaxpr.calls import Call, Function, Run, calls_in, lines_in_loops
from jaxscope.analysis.jaxpr.dataflow import Inside, Region, Step, Use, operations
from jaxscope.model import Checkpoint, Equation, Phase, Source

_LEAST = 0.05
"""A saving below this share of what is kept is not worth a line in the report."""
_MOST = 5
_BACKWARD = (Phase.BACKWARD, Phase.RECOMPUTE)


@dataclass(slots=True)
class _Bytes:
    """What the calls of one function make for one backward pass."""

    dropped: float = 0
    largest: float = 0
    kept: float = 0

    @property
    def saved(self) -> float:
        return self.dropped - self.largest - self.kept


@dataclass(slots=True)
class _Saving:
    calls: float = 0
    passes: dict[Run, _Bytes] = field(default_factory=dict["Run", _Bytes])
    operations: float = 0
    loop: bool = True
    """Every call is a round of a loop whose rounds are all kept."""
    lines: list[int] = field(default_factory=list[int])


def checkpoints(
    region: Region,
    equations: Sequence[Equation],
    sources: Sequence[Source] = (),
    handed: Mapping[int, int] | None = None,
) -> tuple[Checkpoint, ...]:
    """The functions on which a checkpoint would save most, of a program with one derivative.

    The `sources` tell the rounds of a Python loop inside a function from calls of the function.
    `handed` are the bytes that the compiled program hands on to its backward passes, by the
    equation that makes them; outside loops they count instead of those of the equations.
    """
    looped = [lines_in_loops(source) for source in sources]
    found: dict[Function, _Saving] = {}
    total = 0.0
    whole = Use(region, 0, (), 1.0, None)
    there = frozenset(range(region.arguments + region.constants))
    for here in _heres(whole, frozenset(), there):
        if not here.rounds_of_outer:
            values = here.use.region.values
            total = max(total, sum(values[value].bytes for value in here.kept))
        readers = _readers(here, equations)
        every = calls_in(here.use, here.phases, here.runs, equations, looped)
        for function, calls in every.items():
            saving = found.setdefault(function, _Saving())
            outside = {v for v, all_of in readers.items() if function not in all_of}
            _add(saving, function, here, calls, outside, equations, handed)
    result: list[Checkpoint] = []
    for (source, name), saving in found.items():
        best = max(saving.passes.values(), key=lambda each: each.saved)
        if best.saved > _LEAST * total and saving.calls > 1:
            result.append(
                Checkpoint(
                    name,
                    source,
                    min(saving.lines),
                    max(saving.lines),
                    saving.calls,
                    round(best.saved),
                    round(best.kept),
                    saving.operations,
                    saving.loop,
                )
            )
    result.sort(key=lambda one: (-one.saved, one.operations, "<lambda>" in one.function))
    alike: dict[tuple[int, float], Checkpoint] = {}
    for one in result:
        # Of a function and what only wraps it, one is enough.
        alike.setdefault((one.saved, one.operations), one)
    return tuple(alike.values())[:_MOST]


@dataclass(frozen=True, slots=True)
class _Here:
    """A region with forward work."""

    use: Use
    kept: frozenset[int]
    """The values that are made here and that a backward pass reads, here or further out."""
    free: frozenset[int]
    """The values that are there whatever happens here."""
    phases: tuple[Phase, ...]
    """By step."""
    runs: tuple[Run, ...]
    """By step: the gradient whose values it makes."""
    rounds: float
    """How many times its values are kept until their backward pass comes."""

    @property
    def rounds_of_outer(self) -> bool:
        """Whether the backward pass that reads its values is further out."""
        return any(first != self.use.first for first, _ in self.runs)


def _heres(
    use: Use,
    handed: frozenset[int],
    free: frozenset[int],
    outer: tuple[Run, float] | None = None,
) -> Iterator[_Here]:
    """Every region with forward work, the outermost first.

    `handed` are those of its results that the region around keeps, `outer` for which gradient and
    in how many rounds. Without, what it keeps dies in it.
    """
    steps = use.region.steps
    phases = [phase(use.passes + step.passes) for step in steps]
    made = {v for s, p in zip(steps, phases, strict=True) if p is Phase.FORWARD for v in s.outputs}
    read = {
        value
        for step, its_phase in zip(steps, phases, strict=True)
        if its_phase in _BACKWARD
        for value in step.inputs
    }
    kept = frozenset((made & read) | handed) - {-1}
    if not kept and not any(step.inside for step in steps):
        return
    run, rounds = outer or (None, 1.0)
    runs = tuple([run or (use.first, number) for number in _numbers(phases)])
    yield _Here(use, kept, free, tuple(phases), runs, rounds)
    for step, its_phase, its_run in zip(steps, phases, runs, strict=True):
        for inside in step.inside if its_phase not in _BACKWARD else ():
            results = inside.region.results
            inner = frozenset(
                results[index]
                for index, value in enumerate(step.outputs)
                if inside.gives and value in kept and results[index] >= 0
            )
            there = _there(use, step, inside, kept | free)
            further = (its_run, rounds * inside.times) if inner else None
            yield from _heres(use.inner(step, inside), inner, there, further)


def _numbers(phases: Sequence[Phase]) -> Iterator[int]:
    """Which of several gradients in a row each step belongs to: a new one begins where forward
    work follows backward work."""
    number, before = 0, Phase.FORWARD
    for each in phases:
        number += each is Phase.FORWARD and before in _BACKWARD
        before = before if each is Phase.PRIMAL else each
        yield number


def _there(use: Use, step: Step, inside: Inside, there: frozenset[int]) -> frozenset[int]:
    """The arguments and constants of a region that are there anyway, given those around it.

    What a loop carries is new in each round. Its slices are there if what they are cut from is.
    """
    region = inside.region
    found = set(range(region.arguments, region.arguments + region.constants))
    for index in range(region.arguments if inside.first_input is not None else 0):
        value = step.inputs[(inside.first_input or 0) + index]
        if value < 0:
            found.add(index)
        elif value in there:
            is_slice = use.region.values[value].shape[1:] == region.values[index].shape
            if inside.invariant is None or index < inside.invariant or is_slice:
                found.add(index)
    return frozenset(found)


def _add(
    saving: _Saving,
    function: Function,
    here: _Here,
    calls: list[Call],
    outside: set[int],
    equations: Sequence[Equation],
    handed: Mapping[int, int] | None,
) -> None:
    """Add what the calls of one function in one region save; values read `outside` it stay."""
    use, kept = here.use, here.kept
    dropped_of: list[tuple[Call, set[int]]] = []
    for call in calls:
        made = {value for step in call.steps for value in step.outputs}
        dropped_of.append((call, (made & kept) - outside))
        saving.lines += [
            frame.span.line
            for step in call.steps
            for frame in equations[use.first + step.offset].frames
            if (frame.source, frame.function) == function
        ]
    slices = [_again(call, dropped) for call, dropped in dropped_of]
    needed: set[int] = {value for _, inputs in slices for value in inputs}
    size = use.region.values
    new: dict[Run, set[int]] = {}
    for (call, dropped), (steps, inputs) in zip(dropped_of, slices, strict=True):
        gone = sum(size[value].bytes for value in dropped - needed)
        if handed is not None and here.rounds == 1:
            gone = _gone(call, use.first, needed | outside, handed)
        total = saving.passes.setdefault(call.run, _Bytes())
        total.dropped += gone * here.rounds
        total.largest = max(total.largest, gone)
        new.setdefault(call.run, set()).update(inputs - kept - here.free)
        saving.calls += use.times
        saving.loop = saving.loop and here.rounds > 1
        saving.operations += sum(operations(step) for step in steps) * use.times
    for run, values in new.items():
        saving.passes[run].kept += sum(size[value].bytes for value in values) * here.rounds


def _gone(call: Call, first: int, staying: set[int], handed: Mapping[int, int]) -> int:
    """Bytes that the compiled program hands on of what a call makes, without what stays."""
    total = 0
    for step in call.steps:
        if staying.isdisjoint(step.outputs):
            size = 1 + sum(inside.region.size for inside in step.inside)
            start = first + step.offset
            total += sum(handed.get(number, 0) for number in range(start, start + size))
    return total


def _again(call: Call, dropped: set[int]) -> tuple[list[Step], set[int]]:
    """The steps that make these values again, and what they start from."""
    makers = {value: step for step in call.steps for value in step.outputs if value >= 0}
    steps: dict[int, Step] = {}
    inputs: set[int] = set()
    waiting = sorted(dropped)
    while waiting:
        value = waiting.pop()
        step = makers.get(value)
        if step is None:
            inputs.add(value)
        elif step.offset not in steps:
            steps[step.offset] = step
            waiting += [v for v in step.inputs if v >= 0]
    return list(steps.values()), inputs


def _readers(here: _Here, equations: Sequence[Equation]) -> dict[int, frozenset[Function]]:
    """Kept value → the functions that all of the backward work which reads it belongs to."""
    found: dict[int, frozenset[Function]] = {}
    for step, its_phase in zip(here.use.region.steps, here.phases, strict=True):
        wanted = here.kept.intersection(step.inputs) if its_phase in _BACKWARD else ()
        if not wanted:
            continue
        frames = equations[here.use.first + step.offset].frames
        functions = frozenset((f.source, f.function) for f in frames if f.source is not None)
        for value in wanted:
            found[value] = found.get(value, functions) & functions
    return found
