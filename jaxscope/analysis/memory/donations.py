"""Inputs of a program whose buffers its results could reuse."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from jaxscope.analysis.links.line_figures import counted, stage_of
from jaxscope.analysis.profile.origins import of_equations
from jaxscope.model import Program, StageKind, Value, ValueKind
from jaxscope.model.profile import Place

_HOST = "NumPy array"


@dataclass(frozen=True, slots=True)
class Donation:
    """An input that is not donated, and a result that could reuse its buffer."""

    input: str
    output: str
    bytes: int
    place: Place | None
    """The line that computes the result; None when it is unknown."""


def donations(program: Program, sources: int = 1) -> tuple[Donation, ...]:
    """Pairs of equal type and sharding, the largest first.

    JAX lets a result reuse the buffer of a donated input of its type; XLA then needs that many
    bytes less during the whole run. Whether the caller reads the input again is unknown.
    """
    free = list(enumerate(program.outputs))
    taken = Counter(_type(v) for v in program.inputs if v.kind is ValueKind.DONATED)
    free = [(number, out) for number, out in free if not _consumed(taken, out)]
    places = _places(program, sources)
    found: list[Donation] = []
    given = [v for v in program.inputs if v.kind is ValueKind.TRACED and v.bytes]
    # A result of the input's own name is the one that replaces it.
    for value in sorted(given, key=lambda v: v.name not in {out.name for _, out in free}):
        # A NumPy array is copied to the device anyway.
        if value.reason.startswith(_HOST):
            continue
        fitting = [pair for pair in free if _type(pair[1]) == _type(value)]
        if fitting:
            number, out = min(fitting, key=lambda pair: pair[1].name != value.name)
            free.remove((number, out))
            found.append(Donation(value.name, out.name, value.bytes or 0, places.get(number)))
    return tuple(sorted(found, key=lambda row: -row.bytes))


def _type(value: Value) -> tuple[str, str]:
    return value.aval.removesuffix(" (weak)"), value.sharding


def _consumed(taken: Counter[tuple[str, str]], out: Value) -> bool:
    """Whether a donated input is reused for this result already."""
    if taken[_type(out)] <= 0:
        return False
    taken[_type(out)] -= 1
    return True


def _places(program: Program, sources: int) -> dict[int, Place]:
    """Index of a result → the line that computes it, by the root of the compiled program."""
    stage = stage_of(program, StageKind.OPTIMIZED_HLO)
    known = counted(stage.text) if stage is not None else None
    if stage is None or known is None:
        return {}
    module = known[0]
    root = module.entry_computation.root
    names = root.operands if root.opcode == "tuple" else (root.name,)
    if len(names) != len(program.outputs):
        return {}
    found: dict[int, Place] = {}
    for source in range(sources):
        origins = of_equations(program, stage, module, source)
        for number, name in enumerate(names):
            if name in origins:
                found.setdefault(number, origins[name].place)
    return found
