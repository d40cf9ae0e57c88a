"""The line of Python that each HLO instruction belongs to."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from typing import NamedTuple

from jaxscope.analysis.hlo import HloFrame, HloModule, Instruction
from jaxscope.analysis.profile.renamed import renamed
from jaxscope.model import Phase, Program, Stage
from jaxscope.model.profile import Place


class Origin(NamedTuple):
    """Where an instruction comes from."""

    place: Place
    sure: bool
    """It is known by its own tag or frame, and not by likeness or by its neighbors."""


Origins = Mapping[str, Origin]
"""By instruction. What belongs to no line of the source in question is missing."""


def of_equations(program: Program, stage: Stage, module: HloModule, source: int | None) -> Origins:
    """By the equations that the lines of the optimized HLO are anchored to.

    A line of a source stands for what it calls: an equation belongs to the innermost of its frames
    that lies in that source, as everywhere in a report; without a source, to the innermost of all.
    """
    homes: dict[int, Place] = {}
    for equation in program.equations:
        known = ((f.source, f.span.line) for f in equation.frames if f.source is not None)
        found_at = next(((s, line) for s, line in known if source in (None, s)), None)
        if found_at is not None:
            homes[equation.id] = Place(*found_at, equation.phase)
    found: dict[str, Origin] = {}
    for anchor in stage.anchors:
        instruction = module.at_line(anchor.line)
        if instruction is None or not anchor.equations:
            continue
        if anchor.exact:
            place = homes.get(anchor.equations[0])
        else:
            # Candidates that disagree are no answer, but they may agree on the line.
            places = {homes.get(equation) for equation in anchor.equations}
            place = places.pop() if len(places) == 1 else _same_line(places)
        if place is not None:
            found[instruction.name] = Origin(place, anchor.exact)
    for name, equation in renamed(program, stage, module).items():
        if equation in homes:
            found[name] = Origin(homes[equation], False)
        else:
            found.pop(name, None)
    return found


def _same_line(places: set[Place | None]) -> Place | None:
    """The one line of several directions, taken as untouched by differentiation."""
    lines = {place and (place.source, place.line) for place in places}
    only = lines.pop() if len(lines) == 1 else None
    return Place(*only, Phase.PRIMAL) if only else None


def of_frames(module: HloModule, files: Mapping[str, int], source: int) -> Origins:
    """By the stack frames that JAX writes into the module, for a program without tags.

    `files` are the sources by file name. Who called the function is no part of it: the frames are
    those of the call that was traced, and of all other calls they would be wrong.
    """
    found: dict[str, Origin] = {}
    for instruction, frames in frames_inside(module):
        frame = next((f for f in frames if files.get(f.file) == source), None)
        if frame is not None:
            place = Place(source, frame.line, _phase(instruction))
            found[instruction.name] = Origin(place, True)
    return found


_Stack = tuple[HloFrame, ...]


def frames_inside(module: HloModule) -> list[tuple[Instruction, _Stack]]:
    """The instructions with their frames, innermost first, up to the compiled function's own."""
    stacks = [(i, frames) for i in module.instructions() if (frames := module.frames(i))]
    name = _plain(module.name.removeprefix("jit_"))
    cut = [(i, _up_to(frames, name)) for i, frames in stacks]
    if any(len(short) < len(frames) for (_, short), (_, frames) in zip(cut, stacks, strict=True)):
        return cut
    # No frame has the program's name (an object that is called, say): what all share is outside.
    outermost_first = zip(*(frames[::-1] for _, frames in stacks), strict=False)
    callers = sum(1 for _ in itertools.takewhile(lambda row: len(set(row)) == 1, outermost_first))
    if any(len(frames) == callers for _, frames in stacks):
        callers -= 1
    return [(i, frames[: len(frames) - max(callers, 0)]) for i, frames in stacks]


def _up_to(frames: _Stack, name: str) -> _Stack:
    """Without the callers of the outermost function of that name; all where there is none."""
    last = max(
        (n for n, f in enumerate(frames) if _plain(f.function.rpartition(".")[2]) == name),
        default=len(frames) - 1,
    )
    return frames[: last + 1]


def _plain(name: str) -> str:
    """Letters and digits alone: XLA's name of a module replaces all others."""
    return re.sub(r"[\W_]+", "", name)


def _phase(instruction: Instruction) -> Phase:
    """By the name stack; a `transpose` around no `jvp` is no backward pass."""
    name = instruction.op_name
    if "transpose(jvp(" in name:
        return Phase.REMATERIALIZED if "rematted_computation" in name else Phase.BACKWARD
    return Phase.FORWARD if "jvp(" in name else Phase.PRIMAL
