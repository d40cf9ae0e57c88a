"""A program under `vmap`, followed equation by equation.

A value is a mask of the axes that it depends on. An equation under a `vmap` depends on the batch
exactly when one of its operands does, which is the rule of JAX's own batching; loops are followed
until what they carry changes no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from jaxscope.analysis.jaxpr.flops import equation_operations
from jaxscope.capture import _jax
from jaxscope.capture.jaxpr.bodies import Body, Entry, open_jaxpr
from jaxscope.capture.vmap.axes import TRANSPOSE, VMAP, Axes, AxisKey, Program, shape_of
from jaxscope.capture.vmap.rules import Form, became, reduced
from jaxscope.model import BatchedEquation, Frame, Turn

_MOST = 200_000
"""Beyond it equations are not taken apart; see `equations.expand`."""

_LOOPS = frozenset({"scan", "while", "cond"})
_COLLECTIVES = frozenset({"psum", "psum_invariant", "pmax", "pmin"})

Told = dict[tuple[Any, str], dict[AxisKey, bool]]
"""By traceback and primitive of an equation: the axes that it depends on, and those that it does
not. Under an empty primitive for all equations of a traceback together."""


@dataclass(frozen=True, slots=True)
class _Place:
    """What a jaxpr inherits where it is used."""

    under: tuple[int, ...] = ()
    """Indices of the axes around it, outermost first."""
    times: float = 1.0
    transposed: bool = False
    """It goes back through a batched program, as the backward pass of its gradient."""
    one_by_one: bool = False
    """Inside a loop over the examples that a batching rule put in."""


class Walk:
    """One program, followed once. Values are masks of the axes that they depend on."""

    def __init__(
        self,
        program: Program,
        entries: Sequence[_jax.VmapEntry],
        told: Told,
        tell: Told | None = None,
    ) -> None:
        """`tell` is filled with what is found."""
        self.axes = Axes(program, entries, {key for known in told.values() for key in known})
        self.found: list[BatchedEquation] = []
        self._body = program.body
        self._told, self._tell = told, tell
        self._forward: dict[tuple[Frame, ...], int] = {}
        """Where forward equations stand → the axes that any of them depends on."""
        self._number = 0

    def follow(self) -> None:
        """Fill `found`."""
        self._run(self._body, [0] * len(self._body.jaxpr.invars), _Place(), record=True)

    def _run(self, body: Body, ins: Sequence[int], place: _Place, *, record: bool) -> list[int]:
        """The masks of a jaxpr's results, given those of its arguments."""
        axes, entering = self.axes, self.axes.entering
        masks: dict[int, int] = {
            id(variable): mask for variable, mask in zip(body.jaxpr.invars, ins, strict=True)
        }
        made: set[int] = set()
        here, entered = place, len(place.under)
        for entry in body.entries:
            equation = entry.equation
            depends = 0
            for atom in equation.invars:
                depends |= masks.get(id(atom), 0) | entering.get(id(atom), 0)
            under = axes.under(entry, place.under, depends, here.under)
            transposed = place.transposed or _is_transposed(entry)
            if under != here.under or transposed != here.transposed:
                here = replace(place, under=under, transposed=transposed)
            operands = [
                axes.operand(
                    atom, masks.get(id(atom), 0), under, None if id(atom) in made else entered
                )
                for atom in equation.invars
            ]
            outs = self._equation(entry, operands, here, record=record)
            for variable, mask in zip(equation.outvars, outs, strict=True):
                masks[id(variable)] = mask
                made.add(id(variable))
        return [
            axes.operand(atom, masks.get(id(atom), 0), place.under, None)
            for atom in body.jaxpr.outvars
        ]

    def _equation(
        self, entry: Entry, operands: list[int], place: _Place, *, record: bool
    ) -> list[int]:
        depends = self._depends(entry, operands, place)
        if record and not place.transposed:
            self._forward[entry.frames] = self._forward.get(entry.frames, 0) | depends
        number, position = self._number, len(self.found)
        if record:
            self._number += 1
            if place.under:
                self.found.append(self._described(entry, operands, depends, place, number))
                self._say(entry, depends, place.under)
        if not entry.bodies or number >= _MOST:
            return [self._without_ended(entry, depends)] * len(entry.equation.outvars)
        if place.transposed and entry.primitive not in _LOOPS:
            operands = [depends] * len(operands)
        outs = self._inside(entry, operands, place, record=record)
        if outs is None:
            outs = [depends] * len(entry.equation.outvars)
        if record and place.under:
            for mask in outs:
                depends |= mask
            over = tuple([axis for axis in place.under if depends >> axis & 1])
            self.found[position] = replace(self.found[position], over=over)
        return outs

    def _depends(self, entry: Entry, operands: Sequence[int], place: _Place) -> int:
        """The axes that an equation depends on."""
        depends = 0
        for mask in operands:
            depends |= mask
        if entry.primitive == "iota":
            depends |= self._index(entry, place.under)
        if self._told:
            depends = self._corrected(entry, depends, place.under)
        if place.transposed and entry.frames in self._forward and entry.frames:
            # A cotangent comes from outside; the operation that it goes back through is known.
            return self._forward[entry.frames] & self.axes.mask(place.under)
        return depends

    def _index(self, entry: Entry, under: tuple[int, ...]) -> int:
        """The axis whose index an `iota` stands for: `axis_index` has no operand."""
        calls = _jax.jax_calls(_jax.traceback_of(entry.equation))
        if not any(name == "axis_index" for _, name in calls):
            return 0
        return self.axes.named(under, shape_of(entry.equation.outvars[0])[:1])

    def _without_ended(self, entry: Entry, depends: int) -> int:
        """The mask of a result: a collective over the axis of a vmap is a sum over the batch."""
        if entry.primitive not in _COLLECTIVES or not depends:
            return depends
        shape = shape_of(entry.equation.invars[0])
        positions = [d for d in entry.equation.params["axes"] if isinstance(d, int)]
        along = [axis.index for axis in self.axes.all if depends & axis.bit]
        return depends & ~self.axes.named(along, [shape[d] for d in positions])

    def _corrected(self, entry: Entry, depends: int, under: tuple[int, ...]) -> int:
        """The mask with what the program that was traced first knows better."""
        traceback = _jax.traceback_of(entry.equation)
        told = self._told.get((traceback, entry.primitive)) or self._told.get((traceback, ""), {})
        for axis in (self.axes.all[index] for index in under):
            if axis.told and axis.key in told:
                depends = depends | axis.bit if told[axis.key] else depends & ~axis.bit
        return depends

    def _say(self, entry: Entry, depends: int, under: tuple[int, ...]) -> None:
        if self._tell is None:
            return
        traceback = _jax.traceback_of(entry.equation)
        for key in ((traceback, entry.primitive), (traceback, "")):
            known = self._tell.setdefault(key, {})
            for axis in (self.axes.all[index] for index in under):
                known[axis.key] = known.get(axis.key, False) or bool(depends & axis.bit)

    def _inside(
        self, entry: Entry, operands: list[int], place: _Place, *, record: bool
    ) -> list[int] | None:
        """Follow the values through the jaxprs of an equation; None where nobody knows how."""
        bodies = entry.bodies
        match entry.primitive:
            case "scan":
                return self._scan(entry, operands, place, record)
            case "while":
                return self._while(entry, operands, place, record)
            case "cond":
                return self._cond(bodies, operands, place, record)
            case _:
                outs: list[int] | None = None
                union = 0
                for mask in operands:
                    union |= mask
                for body in bodies:
                    number = len(body.jaxpr.invars)
                    ins = operands if number == len(operands) else [union] * number
                    given = self._run(body, ins, place, record=record)
                    if outs is None and len(given) == len(entry.equation.outvars):
                        outs = given
                return outs

    def _scan(self, entry: Entry, operands: list[int], place: _Place, record: bool) -> list[int]:
        body, equation = entry.bodies[0], entry.equation
        # Arguments are constants, what is carried, then slices; slices and the results that are
        # stacked have one dimension more outside. The parameters that say so differ by version.
        sliced = _deeper(equation.invars, body.jaxpr.invars)
        carried = len(equation.outvars) - _deeper(equation.outvars, body.jaxpr.outvars)
        first = len(operands) - sliced - carried
        ins = list(operands)
        while True:
            outs = self._run(body, ins, place, record=False)
            carry = [a | b for a, b in zip(ins[first : first + carried], outs, strict=False)]
            if carry == ins[first : first + carried]:
                break
            ins[first : first + carried] = carry
        if record:
            own = self.found[-1] if place.under else None
            inside = replace(
                place,
                times=place.times * equation.params["length"],
                one_by_one=place.one_by_one or (own is not None and own.turn is Turn.LOOP),
            )
            outs = self._run(body, ins, inside, record=True)
        return outs

    def _while(self, entry: Entry, operands: list[int], place: _Place, record: bool) -> list[int]:
        params = entry.equation.params
        in_test, in_body = params["cond_nconsts"], params["body_nconsts"]
        bodies = {id(body.jaxpr): body for body in entry.bodies}
        test = bodies[id(open_jaxpr(params["cond_jaxpr"]))]
        body = bodies[id(open_jaxpr(params["body_jaxpr"]))]
        tested = operands[:in_test]
        fixed, carry = operands[in_test : in_test + in_body], operands[in_test + in_body :]
        while True:
            (ends,) = self._run(test, [*tested, *carry], place, record=False)
            outs = self._run(body, [*fixed, *carry], place, record=False)
            grown = [a | b | ends for a, b in zip(carry, outs, strict=True)]
            if grown == carry:
                break
            carry = grown
        if record:
            if ends and place.under:
                own = self.found[-1]
                detail = "until the slowest example is done"
                self.found[-1] = replace(own, turn=Turn.SLOWEST, detail=detail)
            for each in entry.bodies:  # in the order in which the equations are numbered
                ins = [*tested, *carry] if each is test else [*fixed, *carry]
                self._run(each, ins, place, record=True)
        return carry

    def _cond(
        self, bodies: tuple[Body, ...], operands: list[int], place: _Place, record: bool
    ) -> list[int]:
        chosen, *others = operands
        outs: list[int] | None = None
        branches: list[tuple[int, int]] = []
        for body in bodies:
            start = len(self.found)
            given = [m | chosen for m in self._run(body, others, place, record=record)]
            outs = given if outs is None else [a | b for a, b in zip(outs, given, strict=True)]
            branches.append((start, len(self.found)))
        if record and branches:
            # One of them runs: the costliest is counted.
            work = [sum(each.operations for each in self.found[a:b]) for a, b in branches]
            dearest = work.index(max(work))
            for number, (start, end) in enumerate(branches):
                if number != dearest:
                    self.found[start:end] = [
                        replace(each, operations=0.0) for each in self.found[start:end]
                    ]
        return outs or []

    def _described(
        self, entry: Entry, operands: list[int], depends: int, place: _Place, number: int
    ) -> BatchedEquation:
        over = tuple([axis for axis in place.under if depends >> axis & 1])
        form = None
        if place.one_by_one:
            form = Form(Turn.LOOP) if over and not entry.bodies else None
        elif over:
            left = self._without_ended(entry, depends)
            ended = [self.axes.all[axis] for axis in over if not left >> axis & 1]
            if ended:
                form = reduced(
                    entry, [axis.name for axis in ended] if len(ended) < len(over) else []
                )
            else:
                form = became(entry, operands, [self.axes.all[axis].size for axis in over])
        work = _operations(entry) * place.times
        if form is None:
            return BatchedEquation(number, place.under, over, work)
        turn, detail, cause = form.turn, form.detail, form.cause
        return BatchedEquation(number, place.under, over, work, turn, detail, cause)


def _is_transposed(entry: Entry) -> bool:
    """Whether an equation is the transpose of a batched one, and not a batched transpose."""
    scopes = entry.scopes
    if TRANSPOSE not in scopes or VMAP not in scopes:
        return False
    return scopes.index(TRANSPOSE) < scopes.index(VMAP)


def _deeper(outside: Sequence[Any], inside: Sequence[Any]) -> int:
    """How many values of a scan have one dimension more than in its body."""
    pairs = zip(outside, inside, strict=True)
    return sum(len(shape_of(one)) > len(shape_of(other)) for one, other in pairs)


def _operations(entry: Entry) -> float:
    """Of one run; what holds other equations does nothing itself."""
    if entry.bodies and not entry.primitive.startswith(("reduce", "scatter")):
        return 0.0
    equation = entry.equation
    with suppress(Exception):  # parameters that this JAX names otherwise
        ins = [shape_of(atom) for atom in equation.invars]
        outs = [shape_of(variable) for variable in equation.outvars]
        return equation_operations(entry.primitive, ins, outs, equation.params)
    return 0.0
