"""Jacobians in a program: `vmap` of a forward or a backward pass over the rows of an identity.

`jax.jacfwd` and `jax.jacrev` push an identity matrix through the derivative, one row for each
input or output. So the identity says which mode it is, and how many passes it takes. What leaves
the passes says how many the other mode would take; under a `vmap` it leaves once for each example,
and one pass serves them all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jaxscope.analysis.jaxpr.autodiff_phase import Passes, levels
from jaxscope.analysis.jaxpr.dataflow import Inside, Region, Step, Use, operations, uses
from jaxscope.model import BatchedEquation, Batching, Jacobian, Phase

_MOVES = frozenset(
    {"convert_element_type", "split", "reshape", "squeeze", "slice", "transpose", "expand_dims"}
)
_MARGINS = frozenset({"iota", "add", "convert_element_type", "broadcast_in_dim"})
_IDENTITIES = frozenset({"eq", "ge"})


def jacobian(region: Region, batching: Batching | None = None) -> Jacobian | None:
    """The outermost Jacobian of more than one pass; None when the program builds none.

    `batching` tells which of its numbers are those of several examples.
    """
    examples = _Examples(batching)
    for use in uses(region, limit=200):
        found = _find(use, examples)
        if found is not None:
            return found
    return None


@dataclass(frozen=True, slots=True)
class _Seed:
    value: int
    passes: int
    around: Passes
    equation: int
    """The id of the equation that made the identity."""


class _Examples:
    """How many examples a number stands for, by the equation that makes it."""

    def __init__(self, batching: Batching | None) -> None:
        self._sizes = () if batching is None else tuple([axis.size for axis in batching.axes])
        self._by_id: Mapping[int, BatchedEquation] = (
            {} if batching is None else {each.equation: each for each in batching.equations}
        )

    def around(self, seed: _Seed) -> frozenset[int]:
        """The maps that the whole Jacobian stands under."""
        made = self._by_id.get(seed.equation)
        return frozenset() if made is None else frozenset(made.under)

    def of(self, equation: int, around: frozenset[int]) -> int:
        """The examples of these maps in the results of an equation; 0 where nobody knows."""
        made = self._by_id.get(equation)
        over = () if made is None else made.over
        return math.prod(self._sizes[axis] or 0 for axis in over if axis in around)


def _find(use: Use, examples: _Examples) -> Jacobian | None:
    seeds = _seeds(use)
    for step in use.region.steps:
        levels_here = levels(use.passes + step.passes)
        for value in step.inputs:
            seed = seeds.get(value)
            if seed is None or len(levels_here) <= len(seed.around):
                continue
            if levels_here[: len(seed.around)] == seed.around:
                reverse = levels_here[len(seed.around)] is Phase.BACKWARD
                return _measure(use, seed, seeds, reverse, examples)
    return None


def _seeds(use: Use) -> dict[int, _Seed]:
    """Values that are an identity matrix, or rows of one."""
    region = use.region
    found: dict[int, _Seed] = {}
    for step in region.steps:
        if not step.outputs or step.outputs[0] < 0:
            continue
        shape = region.values[step.outputs[0]].shape
        if (
            step.primitive in _IDENTITIES
            and len(shape) == 2
            and shape[0] == shape[1] > 1
            and all(_counts(value, region) for value in step.inputs)
        ):
            around = levels(use.passes + step.passes)
            number = use.first + step.offset
            found[step.outputs[0]] = _Seed(step.outputs[0], shape[0], around, number)
        elif step.primitive in _MOVES and step.inputs[0] in found:
            first = found[step.inputs[0]]
            for value in step.outputs:
                found[value] = _Seed(value, first.passes, first.around, first.equation)
    return found


def _counts(value: int, region: Region) -> bool:
    """Whether a value holds row or column numbers."""
    while value in region.makers:
        step = region.makers[value][0]
        if step.primitive == "iota":
            return True
        if step.primitive not in _MARGINS:
            return False
        value = step.inputs[0]
    return False


def _measure(
    use: Use, seed: _Seed, seeds: dict[int, _Seed], reverse: bool, examples: _Examples
) -> Jacobian:
    """How much a pass costs, and how many the other mode would take."""
    region, depth = use.region, len(seed.around)
    linear: set[int] = set(seeds)
    linear_work = primal_work = 0.0
    leaving: list[int] = []
    of_pass: set[int] = set()
    for step in region.steps:
        here = levels(use.passes + step.passes)
        inside_pass = here[:depth] == seed.around and len(here) > depth
        if inside_pass:
            tangent, made = _split(step, linear, use.passes)
            every = operations(step)
            if reverse and here[depth] is Phase.BACKWARD:
                tangent = every
            linear_work += tangent
            primal_work += every - tangent
            linear |= made
            of_pass |= made
        else:
            leaving += [value for value in dict.fromkeys(step.inputs) if value in of_pass]
    leaving += [value for value in dict.fromkeys(region.results) if value in of_pass]
    other = _other(use, seed, leaving, examples)
    return Jacobian(reverse, seed.passes, other, primal_work, linear_work / seed.passes)


def _other(use: Use, seed: _Seed, leaving: Sequence[int], examples: _Examples) -> int | None:
    """The passes of the other mode: the numbers of one example that leave each pass."""
    region, around = use.region, examples.around(seed)
    total = 0
    for value in leaving:
        numbers = math.prod(region.values[value].shape)
        each = examples.of(use.first + region.makers[value][0].offset, around)
        if not each or numbers % each:
            return None
        total += numbers // each
    return total // seed.passes if total and total % seed.passes == 0 else None


def _split(step: Step, linear: set[int], around: Passes) -> tuple[float, set[int]]:
    """The operations of a step that depend on linear values, and which of its outputs do."""
    if not any(value in linear for value in step.inputs):
        return 0.0, set()
    givers = [inside for inside in step.inside if inside.gives and inside.first_input is not None]
    if not givers:
        return operations(step), {value for value in step.outputs if value >= 0}
    work, made = 0.0, set[int]()
    for inside in givers:
        spent, results = _inside(step, inside, linear, around + step.passes)
        work = max(work, spent * inside.times)
        made |= {step.outputs[index] for index in results if step.outputs[index] >= 0}
    return work, made


def _inside(
    step: Step, inside: Inside, linear: set[int], around: Passes
) -> tuple[float, Sequence[int]]:
    """The same for what a step runs; what a loop carries may become linear round by round."""
    region, first = inside.region, inside.first_input or 0
    marked = {index for index in range(region.arguments) if step.inputs[first + index] in linear}
    while True:
        here, work = set(marked), 0.0
        for inner in region.steps:
            spent, made = _split(inner, here, around)
            work += spent
            here |= made
        results = [i for i, value in enumerate(region.results) if value in here]
        if inside.invariant is None:
            return work, results
        # The results of a loop begin with what it carries, as its arguments do after the constants.
        carried = {inside.invariant + i for i in results if inside.invariant + i < region.arguments}
        carried = {
            index
            for index in carried
            if region.values[index].shape
            == region.values[region.results[index - inside.invariant]].shape
        }
        if carried <= marked:
            return work, results
        marked |= carried
