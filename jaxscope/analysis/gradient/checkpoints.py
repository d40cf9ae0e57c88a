"""The estimated effect of `jax.checkpoint` on each function of the user's.

Estimated from the equations, and, where the program was compiled, from its compiled residuals: XLA
fuses, so it saves less than the equations say. A checkpointed call saves its inputs instead of its
residuals; the backward pass rematerializes them, so one call's residuals are alive at peak memory.
A checkpoint on a function that is called once therefore frees nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from jaxscope.analysis.jaxpr.autodiff_phase import BACKWARD, gradient_numbers, phase
from jaxscope.analysis.jaxpr.calls import (
    CalledEquations,
    Function,
    GradientKey,
    calls_in,
    lines_in_loops,
)
from jaxscope.analysis.jaxpr.dataflow import InnerRegion, Region, RegionStep, RegionUse
from jaxscope.analysis.jaxpr.flops import step_flops
from jaxscope.model import Checkpoint, Equation, Phase, Source

_LEAST = 0.05
"""A reduction below this share of the residuals is not worth a line in the report."""
_MOST = 5


@dataclass(slots=True)
class _Bytes:
    """Residuals of the calls of one function for one backward pass."""

    dropped: float = 0
    largest: float = 0
    saved: float = 0

    @property
    def freed(self) -> float:
        return self.dropped - self.largest - self.saved


@dataclass(slots=True)
class _Effect:
    calls: float = 0
    gradients: dict[GradientKey, _Bytes] = field(default_factory=dict["GradientKey", _Bytes])
    flops: float = 0
    loop: bool = True
    """Every call is an iteration of a loop, and all iterations save residuals."""
    lines: list[int] = field(default_factory=list[int])


def checkpoints(
    region: Region,
    equations: Sequence[Equation],
    sources: Sequence[Source] = (),
    compiled: Mapping[int, int] | None = None,
    called: "Sequence[Called] | None" = None,
) -> tuple[Checkpoint, ...]:
    """The functions on which a checkpoint would free most, of a program with one derivative.

    The `sources` distinguish iterations of a Python loop inside a function from calls of it.
    `compiled` are the bytes of the compiled residuals by the equation that makes them; outside
    loops they count instead of those of the equations. `called` is their `calls_by_region`.
    """
    if called is None:
        called = calls_by_region(region, equations, [*map(lines_in_loops, sources)])
    found: dict[Function, _Effect] = {}
    total = 0.0
    for here, every in called:
        if not here.saved_for_outer:
            values = here.use.region.values
            total = max(total, sum(values[value].bytes for value in here.saved))
        readers = _readers(here, equations)
        for function, calls in every.items():
            effect = found.setdefault(function, _Effect())
            outside = {v for v, all_of in readers.items() if function not in all_of}
            _add(effect, function, here, calls, outside, equations, compiled)
    result: list[Checkpoint] = []
    for (source, name), effect in found.items():
        best = max(effect.gradients.values(), key=lambda each: each.freed)
        if best.freed > _LEAST * total and effect.calls > 1:
            result.append(
                Checkpoint(
                    name,
                    source,
                    min(effect.lines),
                    max(effect.lines),
                    effect.calls,
                    freed_bytes=round(best.freed),
                    saved_bytes=round(best.saved),
                    flops=effect.flops,
                    loop=effect.loop,
                )
            )
    result.sort(key=lambda one: (-one.freed_bytes, one.flops, "<lambda>" in one.function))
    alike: dict[tuple[int, float], Checkpoint] = {}
    for one in result:
        # Of a function and its wrapper, one is enough.
        alike.setdefault((one.freed_bytes, one.flops), one)
    return tuple(alike.values())[:_MOST]


def calls_by_region(
    region: Region, equations: Sequence[Equation], looped: Sequence[frozenset[int]]
) -> "list[Called]":
    """The calls of each function in each region with forward work; `looped` as in `calls_in`."""
    there = frozenset(range(region.arguments + region.constants))
    return [
        (here, calls_in(here.use, here.phases, here.gradients, equations, looped))
        for here in _heres(RegionUse(region), frozenset(), there)
    ]


@dataclass(frozen=True, slots=True)
class _Here:
    """A region with forward work."""

    use: RegionUse
    saved: frozenset[int]
    """The values that are made here and that a backward pass reads, here or further out."""
    free: frozenset[int]
    """The values that take no extra memory here."""
    phases: tuple[Phase, ...]
    """By step."""
    gradients: tuple[GradientKey, ...]
    """By step: the gradient whose values it makes."""
    iterations: float
    """Iterations that each save their values until the backward pass."""

    @property
    def saved_for_outer(self) -> bool:
        """Whether the backward pass that reads its values is further out."""
        return any(first != self.use.first for first, _ in self.gradients)


Called = tuple[_Here, dict[Function, list[CalledEquations]]]
"""A region, and the calls of functions in it."""


def _heres(
    use: RegionUse,
    results: frozenset[int],
    free: frozenset[int],
    outer: tuple[GradientKey, float] | None = None,
) -> Iterator[_Here]:
    """Every region with forward work, the outermost first.

    `results` are those that the region around saves, `outer` the gradient that saves them and the
    number of iterations. Without `outer`, its residuals are freed in it.
    """
    steps = use.region.steps
    phases = [phase(use.passes + step.passes) for step in steps]
    made = {v for s, p in zip(steps, phases, strict=True) if p is Phase.FORWARD for v in s.outputs}
    read = {
        value
        for step, its_phase in zip(steps, phases, strict=True)
        if its_phase in BACKWARD
        for value in step.inputs
    }
    saved = frozenset((made & read) | results) - {-1}
    if not saved and not any(step.inner for step in steps):
        return
    gradient, iterations = outer or (None, 1.0)
    gradients = tuple([gradient or (use.first, number) for number in gradient_numbers(phases)])
    yield _Here(use, saved, free, tuple(phases), gradients, iterations)
    for step, its_phase, its_gradient in zip(steps, phases, gradients, strict=True):
        for inner in step.inner if its_phase not in BACKWARD else ():
            given = inner.region.results
            needed = frozenset(
                given[index]
                for index, value in enumerate(step.outputs)
                if inner.yields and value in saved and given[index] >= 0
            )
            further = (its_gradient, iterations * inner.times) if needed else None
            free_inside = _free_inside(use, step, inner, saved | free)
            yield from _heres(use.use(step, inner), needed, free_inside, further)


def _free_inside(
    use: RegionUse, step: RegionStep, inner: InnerRegion, free: frozenset[int]
) -> frozenset[int]:
    """The arguments and constants of an inner region that take no extra memory, given those around.

    The carry of a loop is new in each iteration. Its slices are free if the sliced array is.
    """
    region = inner.region
    found = set(range(region.arguments, region.arguments + region.constants))
    for index, number in enumerate(inner.inputs or ()):
        value = step.inputs[number]
        if value < 0:
            found.add(index)
        elif value in free:
            is_slice = use.region.values[value].shape[1:] == region.values[index].shape
            if inner.invariant is None or index < inner.invariant or is_slice:
                found.add(index)
    return frozenset(found)


def _add(
    effect: _Effect,
    function: Function,
    here: _Here,
    calls: list[CalledEquations],
    outside: set[int],
    equations: Sequence[Equation],
    compiled: Mapping[int, int] | None,
) -> None:
    """Add the effect of the calls of one function in one region; values read `outside` it stay."""
    use, saved = here.use, here.saved
    dropped_of: list[tuple[CalledEquations, set[int]]] = []
    for call in calls:
        made = {value for step in call.steps for value in step.outputs}
        dropped_of.append((call, (made & saved) - outside))
        effect.lines += [
            frame.span.line
            for step in call.steps
            for frame in equations[use.first + step.offset].frames
            if (frame.source, frame.function) == function
        ]
    slices = [_again(call, dropped) for call, dropped in dropped_of]
    needed: set[int] = {value for _, inputs in slices for value in inputs}
    size = use.region.values
    new: dict[GradientKey, set[int]] = {}
    for (call, dropped), (steps, inputs) in zip(dropped_of, slices, strict=True):
        gone = sum(size[value].bytes for value in dropped - needed)
        if dropped and compiled is not None and here.iterations == 1:
            gone = _gone(call, use.first, needed | outside, compiled)
        total = effect.gradients.setdefault(call.gradient, _Bytes())
        total.dropped += gone * here.iterations
        total.largest = max(total.largest, gone)
        new.setdefault(call.gradient, set()).update(inputs - saved - here.free)
        effect.calls += use.times
        effect.loop = effect.loop and here.iterations > 1
        effect.flops += sum(step_flops(step) for step in steps) * use.times
    for gradient, values in new.items():
        extra = sum(size[value].bytes for value in values)
        effect.gradients[gradient].saved += extra * here.iterations


def _gone(call: CalledEquations, first: int, staying: set[int], compiled: Mapping[int, int]) -> int:
    """Bytes of the compiled residuals that a call makes, without those that stay."""
    total = 0
    for step in call.steps:
        if staying.isdisjoint(step.outputs):
            size = 1 + sum(inner.region.size for inner in step.inner)
            start = first + step.offset
            total += sum(compiled.get(number, 0) for number in range(start, start + size))
    return total


def _again(call: CalledEquations, dropped: set[int]) -> tuple[list[RegionStep], set[int]]:
    """The steps that rematerialize these values, and the inputs of those steps."""
    makers = {value: step for step in call.steps for value in step.outputs if value >= 0}
    steps: dict[int, RegionStep] = {}
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
    """Saved value → the functions that all backward equations which read it belong to."""
    found: dict[int, frozenset[Function]] = {}
    for step, its_phase in zip(here.use.region.steps, here.phases, strict=True):
        wanted = here.saved.intersection(step.inputs) if its_phase in BACKWARD else ()
        if not wanted:
            continue
        frames = equations[here.use.first + step.offset].frames
        functions = frozenset((f.source, f.function) for f in frames if f.source is not None)
        for value in wanted:
            found[value] = found.get(value, functions) & functions
    return found
