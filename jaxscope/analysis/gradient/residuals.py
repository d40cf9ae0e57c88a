"""Residuals: the values of a program's forward passes that are saved for its backward passes.

A residual is a value that a backward pass reads and did not make. The forward pass made it or read
it, unlike the cotangent that the backward pass starts from.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from jaxscope.analysis.jaxpr.autodiff_phase import (
    BACKWARD,
    Passes,
    gradient_numbers,
    levels,
    phase,
    residual_level,
)
from jaxscope.analysis.jaxpr.dataflow import InnerRegion, Region, RegionStep, RegionUse, uses
from jaxscope.model import Phase, Residual, ResidualKind


def residuals(region: Region, names: Sequence[str] = ()) -> tuple[Residual, ...]:
    """All residuals of a program, in the order in which they are made.

    `names` are those of the program's arguments.
    """
    return tuple([residual for use in uses(region) for residual in _saved_in(use, names)])


def _saved_in(use: RegionUse, names: Sequence[str]) -> list[Residual]:
    """The residuals that are made, saved and used within one region."""
    passes = [use.passes + step.passes for step in use.region.steps]
    phases = [phase(each) for each in passes]
    if not any(each in BACKWARD for each in phases):
        return []
    # Values named by `checkpoint_name` that are read under their old name too.
    named = {
        value: step.label
        for step in use.region.steps
        if step.primitive == "name"
        for value in step.inputs
    }
    return [
        _describe(use, value, found, names, named)
        for value, found in _crossings(use, passes, phases)
    ]


@dataclass(frozen=True, slots=True)
class _Crossing:
    call: int
    used_by: int
    derivatives: tuple[int, ...]


def _crossings(
    use: RegionUse, passes: Sequence[Passes], phases: Sequence[Phase]
) -> list[tuple[int, _Crossing]]:
    region = use.region
    made: dict[int, Passes] = {}
    read_by: dict[int, set[Passes]] = {}
    for step, its_passes in zip(region.steps, passes, strict=True):
        for value in step.outputs:
            made[value] = its_passes
        its_levels = levels(its_passes)
        prefixes = [its_levels[: k + 1] for k, one in enumerate(its_levels) if one is Phase.FORWARD]
        for value in step.inputs if prefixes else ():
            read_by.setdefault(value, set()).update(prefixes)
    found: dict[int, _Crossing] = {}
    calls = gradient_numbers(phases)
    for step, its_passes, its_phase, call in zip(region.steps, passes, phases, calls, strict=True):
        for value in step.inputs if its_phase in BACKWARD else ():
            if value < 0:
                continue
            level = _level(use, value, made.get(value, use.passes), its_passes, read_by)
            known = found.get(value)
            if level is None or (known is not None and level in known.derivatives):
                continue
            if known is None:
                found[value] = _Crossing(call, use.first + step.offset, (level,))
            else:
                both = tuple(sorted((*known.derivatives, level)))
                found[value] = replace(known, derivatives=both)
    return sorted(found.items())


def _forward_passes(step: RegionStep, passes: Passes) -> set[Passes]:
    """The forward passes that a step is part of, or that begin inside it: a jitted function may
    contain a forward pass whose backward pass is outside."""
    own = levels(passes)
    found = {own[: k + 1] for k, one in enumerate(own) if one is Phase.FORWARD}
    for inner in step.inner if Phase.BACKWARD not in own else ():
        for each in inner.region.steps:
            if each.passes or each.inner:
                found |= _forward_passes(each, passes + each.passes)
    return found


def _level(
    use: RegionUse, value: int, producer: Passes, consumer: Passes, read_by: dict[int, set[Passes]]
) -> int | None:
    """The derivative that saves the value; None when it is not a residual."""
    found = residual_level(producer, consumer)
    if found is None:
        return None
    level, is_made_there = found
    forward = (*levels(consumer)[:level], Phase.FORWARD)
    if is_made_there or forward in read_by.get(value, ()):
        return level
    # A separate function may contain the forward pass: `jit` of `jax.vjp`.
    maker = use.region.makers.get(value)
    return level if maker is not None and forward in _forward_passes(maker[0], producer) else None


@dataclass(frozen=True, slots=True)
class _Origin:
    use: RegionUse
    value: int
    step: RegionStep | None
    """None for an argument or a constant of the region."""
    iterations: int | None


def _origin(use: RegionUse, value: int) -> _Origin:
    """The step that makes a value, inside the functions and loops that return it."""
    iterations: int | None = None
    while True:
        maker = use.region.makers.get(value)
        if maker is None:
            return _Origin(use, value, None, iterations)
        step, index = maker
        if step.primitive == "reduce_precision" and step.inputs[0] >= 0:
            # JAX inserts one after values that `jax.checkpoint` saves, so XLA does not undo it.
            value = step.inputs[0]
            continue
        stop = _Origin(use, value, step, iterations)
        yielding = [inner for inner in step.inner if inner.yields]
        inner = next((i for i in yielding if _makes(i, index)), yielding[0] if yielding else None)
        if inner is None:
            return stop
        result = inner.region.results[index]
        if result < 0:
            return stop
        outer = use.region.values[value].shape
        if outer == (int(inner.times), *inner.region.values[result].shape):
            iterations = int(inner.times) * (iterations or 1)
        used = use.use(step, inner)
        if not _makes(inner, index):
            # Passed through: by a function, or by a loop that stacks one per iteration.
            if inner.invariant is not None and result >= inner.invariant and iterations is None:
                return stop
            return _Origin(used, result, None, iterations)
        use, value = used, result


def _makes(inner: InnerRegion, index: int) -> bool:
    """Whether a region makes its result itself, unlike a branch that returns a literal."""
    region = inner.region
    result = region.results[index]
    return result >= region.arguments + region.constants


def _describe(
    use: RegionUse, value: int, found: _Crossing, names: Sequence[str], named: Mapping[int, str]
) -> Residual:
    flowing = use.region.values[value]
    origin = _origin(use, value)
    kind, label, equation = _words(origin, names)
    if kind is ResidualKind.OUTPUT and value in named:
        kind, label = ResidualKind.NAMED, named[value]
    return Residual(
        flowing.aval,
        flowing.bytes,
        kind,
        label,
        equation,
        used_by=found.used_by,
        iterations=origin.iterations,
        derivatives=found.derivatives,
        call=found.call,
        parent=use.parent,
    )


def _words(origin: _Origin, names: Sequence[str]) -> tuple[ResidualKind, str, int | None]:
    step = origin.step
    if step is not None:
        equation = origin.use.first + step.offset
        if step.primitive == "name":
            return ResidualKind.NAMED, step.label, equation
        return ResidualKind.OUTPUT, step.primitive, equation
    use, value = origin.use, origin.value
    while True:
        region = use.region
        if value >= region.arguments:
            return ResidualKind.CONSTANT, f"constant {value - region.arguments}", None
        if use.outer is None or use.step is None or use.inner is None:
            name = names[value] if value < len(names) else f"[{value}]"
            return ResidualKind.ARGUMENT, name, None
        inputs, invariant = use.inner.inputs, use.inner.invariant
        parent = use.first - use.inner.offset + use.step.offset
        if inputs is None or (invariant is not None and value >= invariant):
            return ResidualKind.CARRIED, use.step.primitive, parent
        outer = use.step.inputs[inputs[value]]
        if outer < 0:
            return ResidualKind.CONSTANT, "a literal", None
        use, value = use.outer, outer
        if value in use.region.makers:
            return _words(_origin(use, value), names)
