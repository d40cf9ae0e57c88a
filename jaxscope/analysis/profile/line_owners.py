"""The line of Python that each HLO instruction belongs to."""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from jaxscope.analysis.hlo import HloFrame, HloModule, Instruction
from jaxscope.analysis.links.tallies import candidates, is_certain
from jaxscope.model import Equation, Phase, Stage
from jaxscope.model.profile import SourceLine


class LineOwner(NamedTuple):
    """The line that an instruction belongs to."""

    place: SourceLine
    sure: bool
    """Known by its own tag or frame, not by an approximate match."""


LineOwners = Mapping[str, LineOwner]
"""By instruction. Instructions of no line of the given source are missing."""


def line_of(equation: Equation, source: int | None = None) -> SourceLine | None:
    """The innermost line of an equation in one source, or in any."""
    for frame in equation.frames:
        if frame.source is not None and source in (None, frame.source):
            return SourceLine(frame.source, frame.span.line, equation.phase)
    return None


def lines_of_equations(equations: Iterable[Equation], source: int | None) -> dict[int, SourceLine]:
    """Equation → its innermost line in that source; equations without one are missing."""
    lines = ((equation.id, line_of(equation, source)) for equation in equations)
    return {number: line for number, line in lines if line is not None}


def of_equations(
    equations: Iterable[Equation], stage: Stage, module: HloModule, source: int | None
) -> LineOwners:
    """Owners by the equations that the optimized HLO is anchored to.

    A line of a source represents what it calls: an equation belongs to its innermost frame in that
    source, as everywhere in a report; without a source, to the innermost of all.
    """
    found: dict[str, LineOwner] = {}
    for name, places, exact in _places(equations, stage, module, source):
        # Candidates that disagree are no answer, but they may agree on the line.
        lines = {place and (place.source, place.line) for place in places}
        only = lines.pop() if len(lines) == 1 else None
        # Of several directions, the line as an undifferentiated one.
        undirected = SourceLine(*only, Phase.PRIMAL) if only else None
        place = places.pop() if len(places) == 1 else undirected
        if place is not None:
            found[name] = LineOwner(place, exact)
    return found


def possible_lines(
    equations: Iterable[Equation], stage: Stage, module: HloModule, source: int
) -> Mapping[str, frozenset[SourceLine]]:
    """The lines that an instruction may be of, where it may be of several."""
    return {
        name: frozenset(place for place in places if place is not None)
        for name, places, _ in _places(equations, stage, module, source)
        if len({place and place[:2] for place in places}) > 1
    }


def _places(
    equations: Iterable[Equation], stage: Stage, module: HloModule, source: int | None
) -> Iterator[tuple[str, set[SourceLine | None], bool]]:
    """Each linked instruction with the lines of its equations, and whether these are certain."""
    lines = lines_of_equations(equations, source)
    for anchor in stage.anchors:
        instruction = module.at_line(anchor.line)
        if instruction is not None and anchor.equations:
            places = {lines.get(equation) for equation in candidates(instruction, anchor)}
            certain = is_certain(anchor, lambda e: (place := lines.get(e)) and place[:2])
            yield instruction.name, places, certain


def of_frames(module: HloModule, files: Mapping[str, int], source: int) -> LineOwners:
    """Owners by the stack frames that JAX writes into the module, for an untagged program.

    `files` are the sources by file name. Callers of the function are excluded: the frames are
    those of the call that was traced, and wrong for all other calls.
    """
    found: dict[str, LineOwner] = {}
    for instruction, frames in frames_inside(module):
        frame = next((f for f in frames if files.get(f.file) == source), None)
        if frame is not None:
            place = SourceLine(source, frame.line, _phase(instruction))
            found[instruction.name] = LineOwner(place, True)
    return found


_Stack = tuple[HloFrame, ...]


def frames_inside(module: HloModule) -> list[tuple[Instruction, _Stack]]:
    """The instructions with their frames, innermost first, up to the compiled function's own."""
    stacks = [(i, frames) for i in module.instructions() if (frames := module.frames(i))]
    name = plain_name(module.name.removeprefix("jit_"))
    cut = [(i, _up_to(frames, name)) for i, frames in stacks]
    if any(len(short) < len(frames) for (_, short), (_, frames) in zip(cut, stacks, strict=True)):
        return cut
    # No frame has the program's name (such as a callable object): common frames are the callers.
    outermost_first = zip(*(frames[::-1] for _, frames in stacks), strict=False)
    callers = sum(1 for _ in itertools.takewhile(lambda row: len(set(row)) == 1, outermost_first))
    if any(len(frames) == callers for _, frames in stacks):
        callers -= 1
    return [(i, frames[: len(frames) - max(callers, 0)]) for i, frames in stacks]


def _up_to(frames: _Stack, name: str) -> _Stack:
    """The frames without the callers of the outermost function of that name."""
    last = max(
        (n for n, f in enumerate(frames) if plain_name(f.function.rpartition(".")[2]) == name),
        default=len(frames) - 1,
    )
    return frames[: last + 1]


def plain_name(name: str) -> str:
    """Letters and digits alone: XLA replaces all others in a module's name."""
    return re.sub(r"[\W_]+", "", name)


def _phase(instruction: Instruction) -> Phase:
    """The phase by the name stack; a `transpose` without `jvp` is not a backward pass."""
    name = instruction.op_name
    if "transpose(jvp(" in name:
        return Phase.REMATERIALIZED if "rematted_computation" in name else Phase.BACKWARD
    return Phase.FORWARD if "jvp(" in name else Phase.PRIMAL
