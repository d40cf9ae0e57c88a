"""A program under `vmap`, followed equation by equation.

A value is a mask of the axes that it is batched over. An equation under a `vmap` is batched exactly
when one of its operands is, which is the rule of JAX's own batching; loops are followed until the
masks of their carry no longer change.
"""

import functools
import operator
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from jaxscope.analysis.jaxpr.dataflow import (
    MOST_EQUATIONS,
    InnerRegion,
    Region,
    RegionStep,
    distinct_regions,
)
from jaxscope.analysis.vmap.axes import (
    VMAP,
    AxisKey,
    TracebackReader,
    VmapAxes,
    VmapCall,
    is_transposed,
)
from jaxscope.analysis.vmap.results import NO_RESULT, ResultForm, reduced, result_of
from jaxscope.model import BatchedEquation, BatchingResult, Frame

_COLLECTIVES = frozenset({"psum", "psum_invariant", "pmax", "pmin"})

KnownAxes = dict[tuple[Hashable, str], dict[AxisKey, bool]]
"""By traceback and primitive of an equation: whether it is batched over each axis. Under an empty
primitive for all equations of a traceback together."""


@dataclass(frozen=True, slots=True)
class _Around:
    """The properties that a region inherits where it is used."""

    under: tuple[int, ...] = ()
    """Indices of the axes around it, outermost first."""
    times: float = 1.0
    transposed: bool = False
    """It is the transpose of a batched program, as the backward pass of its gradient."""
    in_transpose: bool = False
    """It is transposed, or inside a call that is, as a jitted function in the backward pass."""
    sequential: bool = False
    """Inside a loop over the examples that a batching rule inserted."""


def propagate(
    region: Region,
    calls: Sequence[VmapCall],
    tracebacks: TracebackReader,
    known: KnownAxes | None = None,
    learned: KnownAxes | None = None,
) -> tuple[VmapAxes, list[BatchedEquation]]:
    """The axes and batched equations of a program.

    `known` are facts from the untransformed program. `learned` is filled with such facts.
    """
    walk = _Walk(region, calls, tracebacks, known or {}, learned)
    walk.run(region, [0] * region.arguments, _Around(), record=True)
    return walk.axes, walk.equations


class _Walk:
    def __init__(
        self,
        region: Region,
        calls: Sequence[VmapCall],
        tracebacks: TracebackReader,
        known: KnownAxes,
        learned: KnownAxes | None,
    ) -> None:
        told = {key for axes in known.values() for key in axes}
        self.axes = VmapAxes(region, calls, tracebacks, told)
        self.equations: list[BatchedEquation] = []
        self._tracebacks, self._known, self._learned = tracebacks, known, learned
        self._forward: dict[tuple[Frame, ...], int] = {}
        """Frames of forward equations → the axes that any of them is batched over."""
        self._number = 0
        called = Counter(
            id(inner.region)
            for one in (distinct_regions(region) if known else ())
            for step in one.steps
            for inner in step.inner
        )
        self._shared = {one for one, times in called.items() if times > 1}
        """Functions that several equations call: facts of their equations are of no single call."""

    def run(
        self, region: Region, arguments: Sequence[int], around: _Around, *, record: bool
    ) -> list[int]:
        """The masks of a region's results, given those of its arguments."""
        axes, entering, variables = self.axes, self.axes.entering, region.variables
        masks = [*arguments, *[0] * (len(region.values) - len(arguments))]
        here = around
        for step in region.steps:
            depends = 0
            for value in step.inputs:
                if value >= 0:
                    depends |= masks[value] | entering.get(variables[value], 0)
            under = axes.under(step, around.under, depends, here.under)
            inside = around.in_transpose or is_transposed(step)
            transposed = around.transposed or (inside and VMAP in step.scopes)
            if (under, transposed, inside) != (here.under, here.transposed, here.in_transpose):
                here = replace(around, under=under, transposed=transposed, in_transpose=inside)
            operands = [axes.operand(region, value, masks[value]) for value in step.inputs]
            outs = self._step(region, step, operands, here, record=record)
            for value, mask in zip(step.outputs, outs, strict=True):
                if value >= 0:
                    masks[value] = mask
        return [axes.operand(region, value, masks[value]) for value in region.results]

    def _step(
        self, region: Region, step: RegionStep, given: list[int], here: _Around, *, record: bool
    ) -> list[int]:
        """The masks of the results; `given` are those of the operands, also of axes elsewhere."""
        around = self.axes.mask(here.under)
        operands = [mask & around for mask in given]
        depends = self._depends(region, step, operands, here)
        if record and not here.transposed:
            self._forward[step.frames] = self._forward.get(step.frames, 0) | depends
        number, position = self._number, len(self.equations)
        reduced_over = self._reduced(region, step, depends)
        if record:
            self._number += 1
            if here.under:
                for axis in here.under:
                    self.axes.all[axis].tracebacks.add(step.traceback)
                over = _over(here, depends)
                form = self._form(region, step, operands, over, reduced_over, here)
                self.equations.append(
                    BatchedEquation(
                        number,
                        here.under,
                        over,
                        step.flops * here.times,
                        form.result,
                        detail=form.detail,
                        function=form.function,
                    )
                )
                self._learn(step, depends, here.under)
        if not step.inner or number >= MOST_EQUATIONS:
            return [depends & ~reduced_over] * len(step.outputs)
        loop = step.inner[0].invariant is not None
        if here.transposed and not loop and step.primitive != "cond":
            given = [depends] * len(operands)
        follow = self._loop if loop else self._branches
        outs = follow(step, given, here, record=record)
        if outs is None:
            outs = [depends] * len(step.outputs)
        if self._known:
            self.axes.enter_from(region, step, here.under)
        if record and here.under:
            own = self.equations[position]
            self.equations[position] = replace(own, over=_over(here, depends, *outs))
        return outs

    def _depends(
        self, region: Region, step: RegionStep, operands: Sequence[int], here: _Around
    ) -> int:
        """The axes that an equation is batched over."""
        if here.transposed and step.frames and step.frames in self._forward:
            # A cotangent comes from outside; the operation that it is the transpose of is known.
            values = [region.values[one] for one in (*step.inputs, *step.outputs) if one >= 0]
            sizes = {None, *(size for value in values for size in value.shape)}
            forward = self._forward[step.frames] & self.axes.mask(here.under)
            # Cotangents of what all examples share are added up without an axis of the batch.
            return sum(one.bit for one in self.axes.all if forward & one.bit and one.size in sizes)
        depends = _union(operands)
        if step.primitive == "iota" and step.outputs[0] >= 0:
            calls = self._tracebacks.jax_calls(step.traceback)
            if any(name == "axis_index" for _, name in calls):
                # `axis_index` has no operand.
                shape = region.values[step.outputs[0]].shape
                depends |= self.axes.named(here.under, shape[:1])
        if self._known:
            known = self._known.get((step.traceback, step.primitive))
            known = known or self._known.get((step.traceback, ""), {})
            for axis in (self.axes.all[index] for index in here.under):
                if axis.told and axis.key in known:
                    depends = depends | axis.bit if known[axis.key] else depends & ~axis.bit
            if id(region) not in self._shared:
                self.axes.enter_with(region, step, depends & ~_union(operands))
        return depends

    def _reduced(self, region: Region, step: RegionStep, depends: int) -> int:
        """The axes that a collective reduces over: its result is unbatched over them."""
        if step.primitive not in _COLLECTIVES or not depends or step.inputs[0] < 0:
            return 0
        shape = region.values[step.inputs[0]].shape
        positions = [d for d in step.params["axes"] if isinstance(d, int)]
        among = [axis.index for axis in self.axes.all if depends & axis.bit]
        return self.axes.named(among, [shape[d] for d in positions])

    def _learn(self, step: RegionStep, depends: int, under: tuple[int, ...]) -> None:
        if self._learned is None:
            return
        for key in ((step.traceback, step.primitive), (step.traceback, "")):
            known = self._learned.setdefault(key, {})
            for axis in (self.axes.all[index] for index in under):
                if axis.known:
                    known[axis.key] = known.get(axis.key, False) or bool(depends & axis.bit)

    def _loop(
        self, step: RegionStep, operands: list[int], here: _Around, *, record: bool
    ) -> list[int]:
        """Follow a `scan` or a `while` until the masks of its carry no longer change."""
        body = next(inner for inner in step.inner if inner.yields)
        tests = [inner for inner in step.inner if not inner.yields]
        first = body.invariant or 0
        carry = (body.inputs or ())[first : first + body.carried]
        ends, around = 0, self.axes.mask(here.under)
        while True:
            for test in tests:
                ends |= _union(self._inner(test, operands, here, record=False)) & around
            outs = self._inner(body, operands, here, record=False)
            grown = list(operands)
            for number, mask in zip(carry, outs, strict=False):
                grown[number] |= mask | ends
            if grown == operands:
                break
            operands = grown
        if record:
            times, sequential = here.times * body.times, here.sequential
            if here.under:
                own = self.equations[-1]
                if ends:
                    result = BatchingResult.WHILE_UNTIL_ALL_DONE
                    detail = "until the last example is done"
                    self.equations[-1] = replace(own, result=result, detail=detail)
                sequential = sequential or own.result is BatchingResult.SEQUENTIAL_LOOP
            here = replace(here, times=times, sequential=sequential)
            for inner in step.inner:  # in the order in which the equations are numbered
                self._inner(inner, operands, here, record=True)
        return [*(operands[number] for number in carry), *outs[body.carried :]]

    def _branches(
        self, step: RegionStep, operands: list[int], here: _Around, *, record: bool
    ) -> list[int] | None:
        """Follow a call or the branches of a `cond`; None where the results do not match."""
        branch = step.primitive == "cond"
        predicate = operands[0] if branch else 0
        outs: list[int] | None = None
        found: list[tuple[int, int]] = []
        for inner in step.inner:
            start = len(self.equations)
            given = [mask | predicate for mask in self._inner(inner, operands, here, record=record)]
            found.append((start, len(self.equations)))
            if outs is None and len(given) == len(step.outputs):
                outs = given
            elif branch and outs is not None:
                outs = [a | b for a, b in zip(outs, given, strict=True)]
        if record and branch:
            # One of them is executed: the costliest is counted.
            flops = [sum(each.flops for each in self.equations[a:b]) for a, b in found]
            for number, (start, end) in enumerate(found):
                if number != flops.index(max(flops)):
                    self.equations[start:end] = [
                        replace(each, flops=0.0) for each in self.equations[start:end]
                    ]
        return outs

    def _inner(
        self, inner: InnerRegion, operands: list[int], here: _Around, *, record: bool
    ) -> list[int]:
        number = inner.region.arguments
        if inner.inputs is not None:
            arguments = [operands[index] for index in inner.inputs]
        else:
            arguments = operands if number == len(operands) else [_union(operands)] * number
        if not inner.times:
            here = replace(here, times=0.0)
        return self.run(inner.region, arguments, here, record=record)

    def _form(
        self,
        region: Region,
        step: RegionStep,
        operands: Sequence[int],
        over: tuple[int, ...],
        reduced_over: int,
        here: _Around,
    ) -> ResultForm:
        if not over or (here.sequential and step.inner):
            return NO_RESULT
        if here.sequential:
            return ResultForm(BatchingResult.SEQUENTIAL_LOOP)
        axes = [self.axes.all[axis] for axis in over]
        ended = [axis.name for axis in axes if axis.bit & reduced_over]
        if ended:
            return reduced(step, ended if len(ended) < len(over) else [])
        return result_of(region, step, operands, [axis.size for axis in axes], self._tracebacks)


def _over(here: _Around, *masks: int) -> tuple[int, ...]:
    mask = _union(masks)
    return tuple([axis for axis in here.under if mask >> axis & 1])


def _union(masks: Sequence[int]) -> int:
    return functools.reduce(operator.or_, masks, 0)
