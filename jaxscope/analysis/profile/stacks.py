"""Time by equation and by call stack, from the outermost Python frame to the instruction."""

from __future__ import annotations

import collections
from collections.abc import Mapping
from dataclasses import dataclass, field

from jaxscope.analysis.hlo import HloModule
from jaxscope.analysis.links.tallies import candidates
from jaxscope.analysis.profile.fusion_split import FusionSplitter
from jaxscope.analysis.profile.line_owners import line_of
from jaxscope.analysis.profile.merged_lines import with_merged
from jaxscope.model import Equation, Phase, Program, Stage
from jaxscope.model.profile import Profile, SourceLine


@dataclass(slots=True)
class Node:
    """A Python frame, a scope or an instruction, with what runs below it."""

    label: str
    seconds: float = 0.0
    source: int | None = None
    line: int | None = None
    children: dict[str, Node] = field(default_factory=dict)

    def child(self, label: str, source: int | None = None, line: int | None = None) -> Node:
        return self.children.setdefault(label, Node(label, 0.0, source, line))

    def ordered(self) -> list[Node]:
        """The longest first."""
        return sorted(self.children.values(), key=lambda node: -node.seconds)


def by_instruction_and_equation(
    program: Program, stage: Stage, module: HloModule, profile: Profile
) -> dict[tuple[str, int | None], float]:
    """Seconds by instruction and equation; None where the equation is unknown.

    A fusion is split by the same estimate as for its lines.
    """
    owners: dict[str, tuple[int, bool]] = {}
    for anchor in stage.anchors:
        instruction = module.at_line(anchor.line)
        if instruction is None or not anchor.equations:
            continue
        equations = candidates(instruction, anchor)
        # Equations of different lines are no answer.
        if len({program.equations[equation].frame for equation in equations}) == 1:
            owners[instruction.name] = equations[0], anchor.exact
    splitter: FusionSplitter[int] = FusionSplitter(module, owners, {op.name for op in profile.ops})
    isolated = _isolated_seconds(program, profile)
    found: dict[tuple[str, int | None], float] = collections.defaultdict(float)
    for op in profile.ops:
        weights = splitter.owners_of(op.name)
        parts = _as_measured(weights.parts, program, isolated)
        known = sum(weights.parts.values())
        whole, total = known + weights.unknown, sum(parts.values())
        share = known / whole if whole > 0 else 0.0
        if share < 1:
            found[op.name, None] += op.seconds * (1 - share)
        for equation, weight in parts.items():
            found[op.name, equation] += op.seconds * share * weight / total
    return dict(found)


def _isolated_seconds(program: Program, profile: Profile) -> Mapping[SourceLine, float]:
    """Seconds of isolated lines, where they were measured."""
    isolated = program.isolated
    if not isinstance(isolated, Profile) or isolated.unreliable:
        return {}
    return with_merged({row.place: row.seconds for row in isolated.lines}, profile.merged)


def _as_measured(
    parts: Mapping[int, float], program: Program, isolated: Mapping[SourceLine, float]
) -> Mapping[int, float]:
    """The weights with the measured ratios between lines, and the estimated ones within a line."""
    lines = {equation: line_of(program.equations[equation]) for equation in parts}
    if len(set(lines.values())) < 2 or not all(isolated.get(one) for one in lines.values() if one):
        return parts
    weights: dict[SourceLine | None, float] = collections.defaultdict(float)
    for equation, weight in parts.items():
        weights[lines[equation]] += weight
    if None in weights:
        return parts
    return {
        equation: isolated[line] * weight / weights[line]
        for equation, weight in parts.items()
        if (line := lines[equation]) is not None
    }


def by_equation(times: Mapping[tuple[str, int | None], float]) -> dict[int | None, float]:
    """Seconds by equation, the longest first."""
    found: dict[int | None, float] = collections.defaultdict(float)
    for (_, equation), seconds in times.items():
        found[equation] += seconds
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def stack(program: Program, times: Mapping[tuple[str, int | None], float], title: str) -> Node:
    """The tree of Python frames, direction and instruction, each node with the time below it."""
    root = Node(title)
    known: dict[int, Equation] = {equation.id: equation for equation in program.equations}
    for (name, number), seconds in times.items():
        path: list[tuple[str, int | None, int | None]] = []
        equation = None if number is None else known.get(number)
        if equation is None:
            path.append(("unattributed", None, None))
        else:
            path += [
                (f"{f.function} line {f.span.line}", f.source, f.span.line)
                for f in reversed(equation.frames)
            ]
            if equation.phase is not Phase.PRIMAL:
                path.append((str(equation.phase), None, None))
            path.append((equation.primitive, None, None))
        node = root
        node.seconds += seconds
        for label, source, line in (*path, (name, None, None)):
            node = node.child(label, source, line)
            node.seconds += seconds
    return root
