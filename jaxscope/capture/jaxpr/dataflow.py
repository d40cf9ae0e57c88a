"""The flow of values through a program, read from its jaxpr."""

from __future__ import annotations

import math
from typing import Any

from jaxscope.analysis.jaxpr.autodiff_phase import Passes, passes
from jaxscope.analysis.jaxpr.dataflow import Flowing, Inside, Region, Step, region_of
from jaxscope.analysis.jaxpr.flops import equation_operations
from jaxscope.capture import _jax
from jaxscope.capture.jaxpr.bodies import Body, Entry, is_opaque, jaxprs_in

# What runs a jaxpr on all its inputs, in its own place, and gives its results.
_IN_PLACE = frozenset(
    {
        "jit",
        "pjit",
        "closed_call",
        "core_call",
        "remat2",
        "checkpoint",
        "custom_jvp_call",
        "custom_vjp_call",
        "custom_lin",
        "shard_map",
    }
)


def read_flow(body: Body) -> Region:
    """The region of a program's outermost jaxpr, with all regions inside."""
    return _Reader().region(body)


class _Reader:
    def __init__(self) -> None:
        self._regions: dict[int, Region] = {}
        self._avals: dict[int, Flowing] = {}
        self._passes: dict[tuple[tuple[str, str], ...], Passes] = {}

    def region(self, body: Body) -> Region:
        known = self._regions.get(id(body))
        if known is None:
            known = self._regions[id(body)] = self._read(body)
        return known

    def _read(self, body: Body) -> Region:
        jaxpr = body.jaxpr
        numbers: dict[Any, int] = {}
        values: list[Flowing] = []

        def number(atom: Any) -> int:
            known = numbers.get(id(atom))
            if known is None:
                known = numbers[id(atom)] = len(values)
                values.append(self._flowing(atom.aval))
            return known

        arguments = [number(atom) for atom in jaxpr.invars]
        constants = [number(atom) for atom in getattr(jaxpr, "constvars", ())]
        steps: list[Step] = []
        offset = 0
        for entry in body.entries:
            equation = entry.equation
            inside, size = self._inside(entry, offset + 1)
            inputs = [-1 if _is_literal(atom) else number(atom) for atom in equation.invars]
            outputs = [-1 if _is_dropped(atom) else number(atom) for atom in equation.outvars]
            steps.append(
                Step(
                    offset,
                    entry.primitive,
                    self._passes_of(entry.scopes),
                    tuple(inputs),
                    tuple(outputs),
                    inside,
                    0.0 if inside else _operations(entry),
                    _jax.given_name(equation),
                )
            )
            offset += 1 + size
        results = [-1 if _is_literal(atom) else number(atom) for atom in jaxpr.outvars]
        return region_of(values, len(arguments), len(constants), steps, results)

    def _flowing(self, aval: Any) -> Flowing:
        known = self._avals.get(id(aval))
        if known is None:
            known = self._avals[id(aval)] = _flowing(aval)
        return known

    def _passes_of(self, scopes: tuple[tuple[str, str], ...]) -> Passes:
        known = self._passes.get(scopes)
        if known is None:
            known = self._passes[scopes] = passes(scopes)
        return known

    def _inside(self, entry: Entry, offset: int) -> tuple[tuple[Inside, ...], int]:
        """The regions of an equation, and how many equations they hold."""
        params = entry.equation.params
        if is_opaque(entry.primitive) or not entry.bodies:
            return (), 0
        names = [name for name, value in params.items() for _ in jaxprs_in(value)]
        found: list[Inside] = []
        size = 0
        for name, body in zip(names, entry.bodies, strict=True):
            region = self.region(body)
            found.append(_hung(entry, name, region, offset + size))
            size += region.size
        return tuple(found), size


def _hung(entry: Entry, name: str, region: Region, offset: int) -> Inside:
    """A region as it hangs on its equation."""
    params = entry.equation.params
    match entry.primitive:
        case "cond":
            return Inside(region, offset, 1, True)
        case "while" if name == "body_jaxpr":
            first, invariant = int(params["cond_nconsts"]), int(params["body_nconsts"])
            return Inside(region, offset, first, True, 1.0, invariant)
        case "scan":
            constants = _jax.scan_constants(params)
            return Inside(region, offset, 0, True, float(params["length"]), constants or 0)
        case primitive if primitive in _IN_PLACE:
            return Inside(region, offset, 0, True)
        case _:
            return Inside(region, offset, None, False)


def _is_literal(atom: Any) -> bool:
    return hasattr(atom, "val")


def _is_dropped(atom: Any) -> bool:
    return type(atom).__name__ == "DropVar"


def _flowing(aval: Any) -> Flowing:
    shape = tuple(getattr(aval, "shape", ()))
    try:
        size = math.prod(int(extent) for extent in shape)
        width = int(getattr(aval.dtype, "itemsize", 0))
    except (AttributeError, TypeError):  # a token, or a size that is not known
        return Flowing(_jax.short_aval(aval), 0)
    return Flowing(_jax.short_aval(aval), size * width, shape)


def _operations(entry: Entry) -> float:
    equation = entry.equation
    try:
        return equation_operations(
            entry.primitive,
            [tuple(atom.aval.shape) for atom in equation.invars],
            [tuple(atom.aval.shape) for atom in equation.outvars],
            equation.params,
        )
    except Exception:  # a primitive whose parameters have changed counts as nothing
        return 0.0
