"""Compile time by line: clocked seconds of phases, passes and kernels, joined with the lines."""

from __future__ import annotations

import collections
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from jaxscope.analysis.compiles.compile_events import EMITTER, LLVM, XlaPart
from jaxscope.analysis.compiles.python_loops import PythonLoop, loop_around
from jaxscope.analysis.hlo import HloModule, Instruction
from jaxscope.model.compiler.compile_time import (
    CompilationPhase,
    CompiledLine,
    CompileTime,
    CompileTimePart,
)

Line = tuple[str, int]
"""File and line."""
_FOLDS = "constant_folding"
_FARTHEST = 4
"""Levels of operands in which the line of an instruction without one is looked for."""
_NO_CODE = frozenset({"parameter", "constant", "tuple", "get-tuple-element", "bitcast"})


@dataclass(frozen=True, slots=True)
class EquationGroup:
    """Equations of one primitive that the same position, called from the same ones, has made."""

    stack: tuple[Line, ...]
    """The user's frames, innermost first; empty when unknown."""
    count: int
    uniform: bool
    """Whether all have the same shapes and parameters."""
    constant_elements: int = 0
    """Elements of those that depend on no input: XLA may compute them while it compiles."""


@dataclass(frozen=True, slots=True)
class ClockedCompile:
    """One compilation as it was clocked."""

    site: Line | None
    """The call in the user's code."""
    trace_s: float
    lower_s: float
    compile_s: float
    groups: tuple[EquationGroup, ...] = ()
    parts: tuple[XlaPart, ...] = ()
    """Empty where XLA wrote no events."""
    module: HloModule | None = None


@dataclass(slots=True)
class _Sums:
    seconds: dict[tuple[Line | None, CompilationPhase, str, bool], float] = field(
        default_factory=lambda: collections.defaultdict(float)
    )

    def add(
        self,
        weights: Mapping[Line | None, float],
        phase: CompilationPhase,
        name: str,
        seconds: float,
        *,
        clocked: bool = True,
    ) -> None:
        total = sum(weights.values())
        if total <= 0:
            weights, total = _nowhere(), 1.0
        sole = clocked and len(weights) == 1 and None not in weights
        for line, weight in weights.items():
            self.seconds[line, phase, name, sole] += seconds * weight / total


def compile_time(
    compiles: Sequence[ClockedCompile],
    samples: Mapping[Line, float],
    is_user: Callable[[str], bool],
    text: Callable[[str], Sequence[str]],
    place: Callable[[str, int], str],
    notes: Iterable[str] = (),
) -> CompileTime:
    """Join clocked compilations to lines.

    `samples` are seconds seen on each line while JAX traced, `text` gives the lines of a file.
    """
    sums, phases = _Sums(), dict.fromkeys(CompilationPhase, 0.0)
    groups = [group for compile in compiles for group in compile.groups]
    everything = _by_equations(groups, None)
    trace_s = sum(compile.trace_s for compile in compiles)
    phases[CompilationPhase.TRACING] = trace_s
    seen = {line: seconds for line, seconds in samples.items() if seconds > 0}
    tracing: Mapping[Line | None, float] = {**seen} if seen else everything
    if trace_s:
        sums.add(tracing, CompilationPhase.TRACING, "", trace_s, clocked=False)
    named = trace_s
    for compile in compiles:
        weights = _by_equations(compile.groups, compile.site)
        phases[CompilationPhase.LOWERING] += compile.lower_s
        named += compile.lower_s
        if compile.lower_s:
            sums.add(weights, CompilationPhase.LOWERING, "", compile.lower_s)
        for part in compile.parts or (
            XlaPart(CompilationPhase.PASSES, "", compile.compile_s, named=False),
        ):
            phases[part.phase] += part.seconds
            named += part.seconds if part.named else 0.0
            owners = _owners(part, compile, weights, is_user)
            sums.add(owners, part.phase, part.name, part.seconds)
    lines = _lines(sums, groups, text, place)
    index = {(line.file, line.line): number for number, line in enumerate(lines)}
    parts = [
        CompileTimePart(None if line is None else index[line], phase, name, seconds, exact)
        for (line, phase, name, exact), seconds in sums.seconds.items()
        if seconds > 0
    ]
    return CompileTime(
        lines,
        tuple(sorted(parts, key=lambda part: -part.seconds)),
        phases=tuple(phases.items()),
        programs=len([compile for compile in compiles if compile.compile_s]),
        equations=sum(group.count for group in groups),
        named_s=named,
        notes=tuple(notes),
    )


def _nowhere() -> dict[Line | None, float]:
    return {None: 1.0}


def _by_equations(groups: Iterable[EquationGroup], site: Line | None) -> dict[Line | None, float]:
    weights: dict[Line | None, float] = collections.defaultdict(float)
    for group in groups:
        weights[group.stack[0] if group.stack else site] += group.count
    return dict(weights) or {site: 1.0}


def _owners(
    part: XlaPart,
    compile: ClockedCompile,
    weights: Mapping[Line | None, float],
    is_user: Callable[[str], bool],
) -> Mapping[Line | None, float]:
    """The lines of a pass or kernel, by weight."""
    if len(weights) == 1:
        return weights
    if not part.named:
        return _nowhere()
    if part.name == _FOLDS:
        folded: dict[Line | None, float] = collections.defaultdict(float)
        for group in compile.groups:
            if group.constant_elements and group.stack:
                folded[group.stack[0]] += group.constant_elements
        return dict(folded) or weights
    module = compile.module
    if module is None or part.phase is not CompilationPhase.CODEGEN:
        return weights
    if part.kernel:
        found = module.instruction(part.name)
        return _nowhere() if found is None else _inside(module, found, is_user)
    if part.name in (LLVM, EMITTER):
        return _of_code(module, is_user) or weights
    return weights


def _inside(
    module: HloModule, instruction: Instruction, is_user: Callable[[str], bool]
) -> dict[Line | None, float]:
    """Instructions by line, of a kernel and of what it computes."""
    found: dict[Line | None, float] = collections.defaultdict(float)
    for one in [*module.inside(instruction)] or [instruction]:
        if one.opcode not in _NO_CODE:
            found[_line(module, one, is_user)] += 1
    if set(found) <= {None}:
        line = _line(module, instruction, is_user)
        found = _around(module, instruction, is_user)
        if line is not None:
            return {line: 1.0}
    if len(found) > 1:
        found.pop(None, None)  # such as a copy inside a fusion
    return dict(found)


def _around(
    module: HloModule, instruction: Instruction, is_user: Callable[[str], bool]
) -> dict[Line | None, float]:
    """The lines that the operands of an instruction come from, where XLA gave it none."""
    level = [instruction]
    for _ in range(_FARTHEST):
        level = [operand for one in level for operand in module.operands(one)]
        lines = {_line(module, one, is_user) for one in level} - {None}
        if lines:
            return dict.fromkeys(lines, 1.0)
    return _nowhere()


def _of_code(module: HloModule, is_user: Callable[[str], bool]) -> dict[Line | None, float]:
    """Instructions by line, of everything that XLA emits code for."""
    found: dict[Line | None, float] = collections.defaultdict(float)
    for one in module.instructions():
        if one.opcode not in _NO_CODE and one.opcode not in ("dot", "custom-call", "fusion"):
            found[_line(module, one, is_user)] += 1
    if len(found) > 1:
        found.pop(None, None)
    return dict(found)


def _line(
    module: HloModule, instruction: Instruction, is_user: Callable[[str], bool]
) -> Line | None:
    frames = module.frames(instruction)
    return next(((f.file, f.line) for f in frames if f.line and is_user(f.file)), None)


def _lines(
    sums: _Sums,
    groups: Sequence[EquationGroup],
    text: Callable[[str], Sequence[str]],
    place: Callable[[str, int], str],
) -> tuple[CompiledLine, ...]:
    seconds: dict[Line, float] = collections.defaultdict(float)
    for (line, *_), value in sums.seconds.items():
        if line is not None:
            seconds[line] += value
    mine: dict[Line, list[EquationGroup]] = collections.defaultdict(list)
    for group in groups:
        if group.stack:
            mine[group.stack[0]].append(group)
    loops: dict[str, Collection[PythonLoop]] = {}
    found: list[CompiledLine] = []
    for line in sorted({*seconds, *mine}, key=lambda one: (-seconds.get(one, 0.0), one)):
        file, number = line
        here = mine.get(line, [])
        most = max(here, key=lambda group: group.count, default=None)
        loop = None
        if most is not None and most.count > 1:
            loop = loop_around(most.stack, text, loops)
            if loop is not None and not loop.statement and any(g.count == 1 for g in here):
                loop = None  # the rest of the line may be what costs
        lines = text(file)
        found.append(
            CompiledLine(
                file,
                number,
                place=place(file, number),
                text=lines[number - 1].strip() if 0 < number <= len(lines) else "",
                equations=sum(group.count for group in here),
                repeats=1 if most is None else most.count,
                loop="" if loop is None else loop.over,
                loop_line=0 if loop is None else loop.line,
                uniform=bool(here) and all(group.uniform for group in here),
            )
        )
    return tuple(found)
