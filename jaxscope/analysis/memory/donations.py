"""Inputs whose buffers a program's outputs could reuse, if they were donated."""

from collections import Counter
from dataclasses import dataclass

from jaxscope.analysis.links.line_figures import compiled_program
from jaxscope.analysis.profile.line_owners import of_equations
from jaxscope.model import Program, Value, ValueKind
from jaxscope.model.profile import SourceLine

_HOST = "NumPy array"


@dataclass(frozen=True, slots=True)
class Donation:
    """An undonated input, and an output that could reuse its buffer."""

    input: str
    output: str
    bytes: int
    place: SourceLine | None
    """The line that computes the output; None when unknown."""


def donations(program: Program, sources: int = 1) -> tuple[Donation, ...]:
    """Pairs of equal type and sharding, the largest first.

    JAX lets an output reuse a donated input of its type; XLA then needs that many bytes less
    throughout. Whether the caller reads the input again cannot be known here.
    """
    taken = Counter(_type(v) for v in program.inputs if v.kind is ValueKind.DONATED)
    free: list[tuple[int, Value]] = []
    for number, out in enumerate(program.outputs):
        taken[_type(out)] -= 1
        if taken[_type(out)] < 0:  # no donated input of its type is left for it
            free.append((number, out))
    places = _places(program, sources)
    found: list[Donation] = []
    given = [v for v in program.inputs if v.kind is ValueKind.TRACED and v.bytes]
    # An output of the same name replaces the input.
    for value in sorted(given, key=lambda v: v.name not in {out.name for _, out in free}):
        # NumPy arrays are copied to the device anyway.
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


def _places(program: Program, sources: int) -> dict[int, SourceLine]:
    """Output number → the line that computes it, by the root of the compiled program."""
    compiled = compiled_program(program)
    if compiled is None:
        return {}
    stage, module, _ = compiled
    root = module.entry_computation.root
    names = root.operands if root.opcode == "tuple" else (root.name,)
    if len(names) != len(program.outputs):
        return {}
    found: dict[int, SourceLine] = {}
    for source in range(sources):
        owners = of_equations(program.equations, stage, module, source)
        for number, result in enumerate(names):
            if result in owners:
                found.setdefault(number, owners[result].place)
    return found
