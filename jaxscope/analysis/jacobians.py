"""Jacobians in a program: `vmap` of a forward or a backward pass over the rows of an identity.

`jax.jacfwd` and `jax.jacrev` push an identity matrix through the derivative, one row for each
input or output. So the identity says which mode it is, and how many passes it takes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from jaxscope.analysis.dataflow import Inside, Region, Step, Use, operations, uses
from jaxscope.analysis.passes import Passes, levels
from jaxscope.model import Jacobian, Phase

_MOVES = frozenset(
    {"convert_element_type", "split", "reshape", "squeeze", "slice", "transpose", "expand_dims"}
)
_MARGINS = frozenset({"iota", "add", "convert_element_type", "broadcast_in_dim"})
_IDENTITIES = frozenset({"eq", "ge"})


def jacobian(region: Region) -> Jacobian | None:
    """The outermost Jacobian of more than one pass; None when the program builds none."""
    for use in uses(region, limit=200):
        found = _find(use)
        if found is not None:
            return found
    return None


@dataclass(frozen=True, slots=True)
class _Seed:
    value: int
    passes: int
    around: Passes


def _find(use: Use) -> Jacobian | None:
    seeds = _seeds(use)
    for step in use.region.steps:
        levels_here = levels(use.passes + step.passes)
        for value in step.inputs:
            seed = seeds.get(value)
            if seed is None or len(levels_here) <= len(seed.around):
                continue
            if levels_here[: len(seed.around)] == seed.around:
                reverse = levels_here[len(seed.around)] is Phase.BACKWARD
                return _measure(use, seed, seeds, reverse)
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
            found[step.outputs[0]] = _Seed(step.outputs[0], shape[0], around)
        elif step.primitive in _MOVES and step.inputs[0] in found:
            first = found[step.inputs[0]]
            for value in step.outputs:
                found[value] = _Seed(value, first.passes, first.around)
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


def _measure(use: Use, seed: _Seed, seeds: dict[int, _Seed], reverse: bool) -> Jacobian:
    """How much a pass costs, and how many the other mode would take."""
    region, depth = use.region, len(seed.around)
    linear: set[int] = set(seeds)
    linear_work = primal_work = 0.0
    leaving = 0
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
            leaving += sum(
                math.prod(region.values[value].shape)
                for value in dict.fromkeys(step.inputs)
                if value in of_pass
            )
    leaving += sum(
        math.prod(region.values[value].shape)
        for value in dict.fromkeys(region.results)
        if value in of_pass
    )
    other = leaving // seed.passes if leaving and leaving % seed.passes == 0 else None
    return Jacobian(reverse, seed.passes, other, primal_work, linear_work / seed.passes)


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
