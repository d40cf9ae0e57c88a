"""The dataflow of a program, read from its jaxpr."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from jaxscope.analysis.gradient.checkpoints import Called
from jaxscope.analysis.jaxpr.autodiff_phase import passes
from jaxscope.analysis.jaxpr.dataflow import InnerRegion, Region, RegionStep, RegionValue
from jaxscope.analysis.jaxpr.flops import RANDOM, equation_flops
from jaxscope.analysis.jaxpr.flow import Flow
from jaxscope.capture import _jax
from jaxscope.capture.jaxpr.computation import computation
from jaxscope.capture.jaxpr.reader import JaxprBody, JaxprEntry, is_opaque, jaxprs_in
from jaxscope.model import Gradient, Residual, Source

# They execute a jaxpr on all their inputs, once, and give its results.
_CALLS = frozenset({
    "jit", "pjit", "closed_call", "core_call", "remat2", "checkpoint", "custom_jvp_call",
    "custom_vjp_call", "custom_lin", "shard_map",
})  # fmt: skip
_COMBINING = ("reduce", "scatter", "select_and")
"""Their jaxpr combines two elements; the equation itself has their FLOPs."""


@dataclass(frozen=True, slots=True)
class ReadAhead:
    """The parts of a gradient that need no compiled program."""

    names: tuple[str, ...]
    """Those of the arguments, by which it names residuals."""
    sources: tuple[Source, ...]
    residuals: tuple[Residual, ...]
    called: Sequence[Called]


class RegionReader:
    """Reads regions; a jaxpr that is used several times is read once."""

    def __init__(self) -> None:
        self._regions: dict[int, Region] = {}
        self._bodies: list[JaxprBody] = []
        """Kept alive, because `_regions` goes by identity."""
        self._avals: dict[int, RegionValue] = {}
        self._flows: dict[int, Flow] = {}
        self._computation: Hashable = None
        self.gradient: tuple[Hashable, Gradient | None] | None = None
        """The gradient that was read last, behind all else that it was read from."""
        self.ahead: ReadAhead | None = None
        """Parts of the gradient, until that is read."""

    def region(self, body: JaxprBody) -> Region:
        """The region of a jaxpr, with all inner regions."""
        known = self._regions.get(id(body))
        if known is None:
            known = self._regions[id(body)] = self._read(body)
            self._bodies.append(body)
        return known

    def flow(self, body: JaxprBody) -> Flow:
        """The dataflow of the program whose outermost jaxpr it is, calls inlined."""
        region = self.region(body)
        known = self._flows.get(id(body))
        if known is None:
            known = self._flows[id(body)] = Flow(region)
        return known

    def computation(self, jaxpr: Any) -> Hashable:
        """The key of the outermost jaxpr; see `computation`."""
        if self._computation is None:
            self._computation = computation(jaxpr)
        return self._computation

    def _read(self, body: JaxprBody) -> Region:
        jaxpr = body.jaxpr
        numbers: dict[int, int] = {}
        values: list[RegionValue] = []

        def number(atom: Any) -> int:
            if hasattr(atom, "val") or type(atom).__name__ == "DropVar":
                return -1
            known = numbers.get(id(atom))
            if known is None:
                known = numbers[id(atom)] = len(values)
                values.append(self._value(atom.aval))
            return known

        arguments = [number(atom) for atom in jaxpr.invars]
        constants = [number(atom) for atom in getattr(jaxpr, "constvars", ())]
        steps: list[RegionStep] = []
        offset = 0
        for entry in body.entries:
            equation = entry.equation
            inner = self._inner(entry, offset + 1)
            steps.append(
                RegionStep(
                    offset,
                    entry.primitive,
                    passes(entry.scopes),
                    tuple([number(atom) for atom in equation.invars]),
                    tuple([number(atom) for atom in equation.outvars]),
                    literals=_literals(equation.invars),
                    inner=inner,
                    flops=_flops(entry) if all(not one.times for one in inner) else 0.0,
                    label=_jax.given_name(equation),
                    scopes=entry.scopes,
                    frames=entry.frames,
                    params=equation.params,
                    traceback=_jax.traceback_of(equation),
                )
            )
            offset += 1 + sum(one.region.size for one in inner)
        return Region(
            tuple(values),
            len(arguments),
            len(constants),
            tuple(steps),
            results=tuple([number(atom) for atom in jaxpr.outvars]),
            variables=tuple(numbers),
        )

    def _value(self, aval: Any) -> RegionValue:
        known = self._avals.get(id(aval))
        if known is None:
            known = self._avals[id(aval)] = _value(aval)
        return known

    def _inner(self, entry: JaxprEntry, offset: int) -> tuple[InnerRegion, ...]:
        """The inner regions of an equation."""
        if is_opaque(entry.primitive) or not entry.bodies:
            return ()
        params = entry.equation.params
        names = [name for name, value in params.items() for _ in jaxprs_in(value)]
        found: list[InnerRegion] = []
        for name, body in zip(names, entry.bodies, strict=True):
            region = self.region(body)
            found.append(_inner(entry, name, region, offset))
            offset += region.size
        return tuple(found)


def _inner(entry: JaxprEntry, name: str, region: Region, offset: int) -> InnerRegion:
    """A region as its equation executes it."""
    equation, params, every = entry.equation, entry.equation.params, range(region.arguments)
    match entry.primitive:
        case "cond":
            return InnerRegion(region, offset, range(1, 1 + region.arguments), True)
        case "while":
            in_test, in_body = int(params["cond_nconsts"]), int(params["body_nconsts"])
            carry = range(in_test + in_body, len(equation.invars))
            test = name == "cond_jaxpr"
            own = range(in_test) if test else range(in_test, in_test + in_body)
            return InnerRegion(
                region, offset, (*own, *carry), not test, invariant=len(own), carried=len(carry)
            )
        case "scan":
            # Constants, carry, slices. Outside, slices and stacked results have one dimension more;
            # the parameters with these numbers differ by version.
            jaxpr = entry.bodies[0].jaxpr
            carried = len(equation.outvars) - _deeper(equation.outvars, jaxpr.outvars)
            constants = len(every) - _deeper(equation.invars, jaxpr.invars) - carried
            times = float(params["length"])
            return InnerRegion(
                region, offset, every, True, times, invariant=constants, carried=carried
            )
        case primitive if primitive in _CALLS:
            return InnerRegion(region, offset, every, True)
        case primitive if primitive.startswith(_COMBINING):
            return InnerRegion(region, offset, None, False, 0.0)
        case _:
            return InnerRegion(region, offset, None, False)


def _literals(atoms: Any) -> dict[int, float]:
    found: dict[int, float] = {}
    for position, atom in enumerate(atoms):
        value = getattr(atom, "val", None)
        if value is not None and not getattr(value, "shape", ()):
            with suppress(TypeError, ValueError):  # a key or a complex number
                found[position] = float(value)
    return found


def _deeper(outside: Any, inside: Any) -> int:
    """Number of values of a scan with one dimension more than in its body."""
    pairs = zip(outside, inside, strict=True)
    return sum(len(_shape(one.aval)) > len(_shape(other.aval)) for one, other in pairs)


def _shape(aval: Any) -> tuple[int, ...]:
    return tuple(getattr(aval, "shape", ()))


def _value(aval: Any) -> RegionValue:
    shape = _shape(aval)
    try:
        size = math.prod(int(extent) for extent in shape)
        width = int(getattr(aval.dtype, "itemsize", 0))
    except (AttributeError, TypeError):  # a token, or a size that is not known
        return RegionValue(_jax.short_aval(aval), 0)
    return RegionValue(_jax.short_aval(aval), size * width, shape)


def _flops(entry: JaxprEntry) -> float:
    equation = entry.equation
    try:
        of_key = entry.primitive in RANDOM
        return equation_flops(
            entry.primitive,
            [_shape(atom.aval) for atom in equation.invars],
            [_shape(atom.aval) for atom in equation.outvars],
            equation.params,
            str(equation.invars[0].aval.dtype) if of_key else "",
        )
    except Exception:  # a primitive whose parameters have changed counts as nothing
        return 0.0
