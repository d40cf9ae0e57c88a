"""Jacobians in a program: `vmap` of a JVP or a VJP over the rows of an identity.

`jax.jacfwd` and `jax.jacrev` push an identity matrix through the derivative, one row per input or
output. So the identity tells the mode and the number of products. The results of one product tell
how many the other mode would need; under a `vmap` there is one result per example, and one product
serves them all.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jaxscope.analysis.jaxpr.autodiff_phase import Passes, levels
from jaxscope.analysis.jaxpr.dataflow import InnerRegion, Region, RegionStep, RegionUse, uses
from jaxscope.analysis.jaxpr.flops import step_flops
from jaxscope.model import BatchedEquation, Batching, Jacobian, Phase

_MOVES = frozenset(
    {"convert_element_type", "split", "reshape", "squeeze", "slice", "transpose", "expand_dims"}
)
_MARGINS = frozenset({"iota", "add", "convert_element_type", "broadcast_in_dim"})
_IDENTITIES = frozenset({"eq", "ge"})


def jacobian(region: Region, batching: Batching | None = None) -> Jacobian | None:
    """The outermost Jacobian of more than one product; None when the program builds none.

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
    products: int
    around: Passes
    equation: int
    """The id of the equation that made the identity."""


class _Examples:
    """Numbers of examples in the results of equations."""

    def __init__(self, batching: Batching | None) -> None:
        self._sizes = () if batching is None else tuple([axis.size for axis in batching.axes])
        self._by_id: Mapping[int, BatchedEquation] = (
            {} if batching is None else {each.equation: each for each in batching.equations}
        )

    def around(self, seed: _Seed) -> frozenset[int]:
        """The vmaps around the whole Jacobian."""
        made = self._by_id.get(seed.equation)
        return frozenset() if made is None else frozenset(made.under)

    def of(self, equation: int, around: frozenset[int]) -> int:
        """The examples of these vmaps in the results of an equation; 0 when unknown."""
        made = self._by_id.get(equation)
        over = () if made is None else made.over
        return math.prod(self._sizes[axis] or 0 for axis in over if axis in around)


def _find(use: RegionUse, examples: _Examples) -> Jacobian | None:
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


def _seeds(use: RegionUse) -> dict[int, _Seed]:
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
            found[step.outputs[0]] = _Seed(shape[0], around, number)
        elif step.primitive in _MOVES and step.inputs[0] in found:
            found.update(dict.fromkeys(step.outputs, found[step.inputs[0]]))
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
    use: RegionUse, seed: _Seed, seeds: dict[int, _Seed], reverse: bool, examples: _Examples
) -> Jacobian | None:
    """The FLOPs of a product, and the number of products of the other mode."""
    region, depth = use.region, len(seed.around)
    linear: set[int] = set(seeds)
    product_flops = primal_flops = 0.0
    leaving: list[int] = []
    of_product: set[int] = set()
    own = _own(use, seed, seeds, reverse)
    if own is None:
        return None
    for number, step in enumerate(region.steps):
        here = levels(use.passes + step.passes)
        in_product = here[:depth] == seed.around and len(here) > depth
        if in_product and number in own:
            tangent, made = _split(step, linear, use.passes)
            every = step_flops(step)
            if reverse and here[depth] is Phase.BACKWARD:
                tangent = every
            product_flops += tangent
            primal_flops += every - tangent
            linear |= made
            of_product |= made
        else:
            leaving += [value for value in dict.fromkeys(step.inputs) if value in of_product]
    leaving += [value for value in dict.fromkeys(region.results) if value in of_product]
    other = _other(use, seed, leaving, examples)
    return Jacobian(reverse, seed.products, other, primal_flops, product_flops / seed.products)


def _own(use: RegionUse, seed: _Seed, seeds: dict[int, _Seed], reverse: bool) -> range | None:
    """The steps among which those of this Jacobian are; None where another one's are among them.

    A region that builds several, as the iterations of Newton's method, has one after the other.
    Reverse mode computes the function before it makes the identity, forward mode after it.
    """
    depth, steps = len(seed.around), use.region.steps
    alike = {value: each for value, each in seeds.items() if each.around == seed.around}
    mine = {value for value, each in alike.items() if each.equation == seed.equation}
    others = alike.keys() - mine
    start = 0
    if not reverse:
        start = next(n for n, step in enumerate(steps) if not mine.isdisjoint(step.outputs))
    own, foreign, inside = list[int](), list[int](), set[int]()
    for number, step in enumerate(steps):
        here = levels(use.passes + step.passes)
        if here[:depth] != seed.around or len(here) <= depth:
            continue
        inside.add(number)
        for values, found in ((mine, own), (others, foreign)):
            if made := _split(step, values, use.passes)[1]:
                values |= made
                found.append(number)
    first, last = own[0], own[-1]
    if any(first <= number <= last for number in foreign):
        return None
    end = last + 1
    while end in inside and end not in foreign:  # the last values of the function
        end += 1
    return range(max([start, *[number + 1 for number in foreign if number < first]]), end)


def _other(use: RegionUse, seed: _Seed, leaving: Sequence[int], examples: _Examples) -> int | None:
    """The products of the other mode: the results of one product for one example."""
    region, around = use.region, examples.around(seed)
    total = 0
    for value in leaving:
        numbers = math.prod(region.values[value].shape)
        each = examples.of(use.first + region.makers[value][0].offset, around)
        if not each or numbers % each:
            return None
        total += numbers // each
    return total // seed.products if total and total % seed.products == 0 else None


def _split(step: RegionStep, linear: set[int], around: Passes) -> tuple[float, set[int]]:
    """The FLOPs of a step on linear values, and its linear outputs."""
    if not any(value in linear for value in step.inputs):
        return 0.0, set()
    yielding = [inner for inner in step.inner if inner.yields and inner.inputs is not None]
    if not yielding:
        return step_flops(step), {value for value in step.outputs if value >= 0}
    flops, made = 0.0, set[int]()
    for inner in yielding:
        spent, results = _inner(step, inner, linear, around + step.passes)
        flops = max(flops, spent * inner.times)
        made |= {step.outputs[index] for index in results if step.outputs[index] >= 0}
    return flops, made


def _inner(
    step: RegionStep, inner: InnerRegion, linear: set[int], around: Passes
) -> tuple[float, Sequence[int]]:
    """The same for an inner region; the carry of a loop may become linear later."""
    region = inner.region
    marked = {i for i, number in enumerate(inner.inputs or ()) if step.inputs[number] in linear}
    while True:
        here, flops = set(marked), 0.0
        for each in region.steps:
            spent, made = _split(each, here, around)
            flops += spent
            here |= made
        results = [i for i, value in enumerate(region.results) if value in here]
        if inner.invariant is None:
            return flops, results
        # The results of a loop begin with its carry, as its arguments do after the invariants.
        carried = {inner.invariant + i for i in results if i < inner.carried}
        if carried <= marked:
            return flops, results
        marked |= carried
