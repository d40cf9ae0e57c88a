"""Which inputs of a program could give up their memory to its results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from jaxscope.analysis.hlo import HloModule
from jaxscope.analysis.links.line_figures import counted, stage_of
from jaxscope.analysis.profile.origins import of_equations
from jaxscope.model import Program, Stage, StageKind, Value, ValueKind
from jaxscope.model.profile import Place

_HOST = "NumPy array"


@dataclass(frozen=True, slots=True)
class Donation:
    """An input that is not donated, and a result that could lie in its memory."""

    input: str
    output: str
    bytes: int
    place: Place | None
    """The line that makes the result; None when that is not known."""


def donations(program: Program, sources: int = 1) -> tuple[Donation, ...]:
    """Pairs of equal type and placement, the largest first.

    JAX lets a result take over a donated input of its type; XLA then needs that many bytes less
    from beginning to end. Whether the caller reads the input again, no program can know.
    """
    free = list(enumerate(program.outputs))
    taken = Counter(_type(v) for v in program.inputs if v.kind is ValueKind.DONATED)
    free = [(number, out) for number, out in free if not _consumed(taken, out)]
    places = _places(program, sources)
    found: list[Donation] = []
    given = [v for v in program.inputs if v.kind is ValueKind.TRACED and v.bytes]
    # A result of the input's own name is the one that replaces it.
    for value in sorted(given, key=lambda v: v.name not in {out.name for _, out in free}):
        # What lies in NumPy's memory is copied to the device anyway.
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
    """Whether a donated input has this result already."""
    if taken[_type(out)] <= 0:
        return False
    taken[_type(out)] -= 1
    return True


def _places(program: Program, sources: int) -> dict[int, Place]:
    """Number of a result → the line that makes it, by the compiled program's own root."""
    stage = stage_of(program, StageKind.OPTIMIZED_HLO)
    known = counted(stage.text) if stage is not None else None
    if stage is None or known is None:
        return {}
    names = _results(known[0])
    if len(names) != len(program.outputs):
        return {}
    found: dict[int, Place] = {}
    for source in range(sources):
        for name, place in _of(program, stage, known[0], source).items():
            for number, result in enumerate(names):
                if result == name:
                    found.setdefault(number, place)
    return found


def _of(program: Program, stage: Stage, module: HloModule, source: int) -> dict[str, Place]:
    origins = of_equations(program, stage, module, source)
    return {name: origin.place for name, origin in origins.items()}


def _results(module: HloModule) -> Sequence[str]:
    root = module.entry_computation.root
    return root.operands if root.opcode == "tuple" else (root.name,)
