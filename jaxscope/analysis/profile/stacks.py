"""Time by equation and by call stack: from the outermost Python frame down to the instruction."""

from __future__ import annotations

import collections
from collections.abc import Mapping
from dataclasses import dataclass, field

from jaxscope.analysis.hlo import HloModule
from jaxscope.analysis.profile.folded import with_folded
from jaxscope.analysis.profile.fusion_split import Weigher
from jaxscope.analysis.profile.renamed import renamed
from jaxscope.model import Equation, Frame, Phase, Program, Stage
from jaxscope.model.profile import Place, Profile


@dataclass(slots=True)
class Node:
    """A frame of Python, a scope, or an instruction, with what runs below it."""

    label: str
    seconds: float = 0.0
    source: int | None = None
    line: int | None = None
    children: dict[str, Node] = field(default_factory=dict)

    def child(self, label: str, source: int | None = None, line: int | None = None) -> Node:
        found = self.children.get(label)
        if found is None:
            found = self.children[label] = Node(label, 0.0, source, line)
        return found

    def ordered(self) -> list[Node]:
        """The longest first."""
        return sorted(self.children.values(), key=lambda node: -node.seconds)


def by_instruction_and_equation(
    program: Program, stage: Stage, module: HloModule, profile: Profile
) -> dict[tuple[str, int | None], float]:
    """Seconds by instruction and the equation that they are for; None where that is not known.

    The inside of a fusion is split by the same estimate as its lines are.
    """
    owners = {
        instruction.name: (anchor.equations[0], anchor.exact)
        for anchor in stage.anchors
        if anchor.equations and (instruction := module.at_line(anchor.line)) is not None
    }
    owners |= {name: (one, False) for name, one in renamed(program, stage, module).items()}
    weigher: Weigher[int] = Weigher(module, owners, {op.name for op in profile.ops})
    apart = _measured(program, profile)
    found: dict[tuple[str, int | None], float] = collections.defaultdict(float)
    for op in profile.ops:
        parts = _as_measured(weigher.work(op.name).parts, program, apart)
        total = sum(parts.values())
        if total <= 0:
            found[op.name, None] += op.seconds
        for equation, weight in parts.items():
            found[op.name, equation] += op.seconds * weight / total
    return dict(found)


def _measured(program: Program, profile: Profile) -> Mapping[Place, float]:
    """Seconds of the lines where they were kept apart."""
    apart = program.line_mode
    if not isinstance(apart, Profile) or apart.distrust:
        return {}
    return with_folded({row.place: row.seconds for row in apart.lines}, profile.folded)


def _as_measured(
    parts: Mapping[int, float], program: Program, apart: Mapping[Place, float]
) -> Mapping[int, float]:
    """The lines among themselves as they were measured; inside a line as estimated."""
    homes = {equation: _home(program.equations[equation]) for equation in parts}
    if len(set(homes.values())) < 2 or not all(apart.get(home) for home in homes.values() if home):
        return parts
    lines: dict[Place | None, float] = collections.defaultdict(float)
    for equation, weight in parts.items():
        lines[homes[equation]] += weight
    if None in lines:
        return parts
    return {
        equation: apart[home] * weight / lines[home]
        for equation, weight in parts.items()
        if (home := homes[equation]) is not None
    }


def _home(equation: Equation) -> Place | None:
    for frame in equation.frames:
        if frame.source is not None:
            return Place(frame.source, frame.span.line, equation.phase)
    return None


def by_equation(times: Mapping[tuple[str, int | None], float]) -> dict[int | None, float]:
    """Seconds by equation, the longest first."""
    found: dict[int | None, float] = collections.defaultdict(float)
    for (_, equation), seconds in times.items():
        found[equation] += seconds
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def stack(program: Program, times: Mapping[tuple[str, int | None], float], title: str) -> Node:
    """The tree of Python frames, direction and instruction; each node has what is below it."""
    root = Node(title)
    known: dict[int, Equation] = {equation.id: equation for equation in program.equations}
    for (name, equation), seconds in times.items():
        root.seconds += seconds
        node = root
        found = known.get(equation) if equation is not None else None
        if found is None:
            node = node.child("no known line")
            node.seconds += seconds
        else:
            for frame in reversed(found.frames):
                node = node.child(_label(frame), frame.source, frame.span.line)
                node.seconds += seconds
            if found.phase is not Phase.PRIMAL:
                node = node.child(str(found.phase))
                node.seconds += seconds
            node = node.child(found.primitive)
            node.seconds += seconds
        leaf = node.child(name)
        leaf.seconds += seconds
    return root


def _label(frame: Frame) -> str:
    return f"{frame.function} line {frame.span.line}"
