"""Reasons for equations without an instruction of their own, as far as the texts prove them.

XLA does not report its rewrites. The StableHLO and the jaxpr prove that an operation depends on no
input, occurs twice, only moves data, or that no result depends on it. Such an equation is
eliminated if no instruction is left that could be its own: one without a link.
"""

import functools
from collections.abc import Collection
from dataclasses import KW_ONLY, dataclass

from jaxscope.analysis.cost import counted
from jaxscope.analysis.diff.ir_functions import IrLine, ir_functions
from jaxscope.analysis.hlo import real_instructions
from jaxscope.analysis.links.line_figures import stage_of
from jaxscope.model import Equation, Program, Stage, StageKind

ABSENT = "no instruction of its own in the compiled program"
NOT_LOWERED = "JAX lowered it to no operation"
UNUSED = "dead-code elimination by JAX: no result depends on it"
CONSTANT = "constant folding: it depends on no input, and no instruction computes it"
TWICE = "common-subexpression elimination: {} computes the same value"
DEAD = "dead-code elimination by XLA: no result depends on it"
MOVED = "it only moves, repeats or converts data, and no instruction is left of it"

_MOVING = frozenset({
    "bitcast_convert", "broadcast", "broadcast_in_dim", "concatenate", "convert", "pad", "reshape",
    "reverse", "slice", "transpose",
})  # fmt: skip
# Their results depend on more than their operands, or they contain such operations.
_OPEN = frozenset({
    "call", "case", "composite", "custom_call", "if", "infeed", "optimization_barrier",
    "partition_id", "recv", "replica_id", "rng", "while",
})  # fmt: skip
_LONGEST = 4_000_000
"""Characters of the longest module that is searched for reasons."""


@dataclass(frozen=True, slots=True)
class Eliminated:
    """A user's equation without a line in the compiled text."""

    equation: int
    reason: str
    _: KW_ONLY
    proven: bool = False
    """False where its work may be part of an instruction of a different equation."""


def eliminated(
    program: Program, compiled: Stage, lowered: Stage | None = None
) -> tuple[Eliminated, ...]:
    """The user's equations without a line in the compiled text.

    An approximate match counts as a line, and so does a line of an equation inside. Empty for a
    stage without text. `lowered`, the StableHLO, distinguishes JAX's eliminations from XLA's.
    """
    if compiled.unavailable is not None or not compiled.anchors:
        return ()
    seen = _with_parents(program.equations, compiled)
    reached = None
    if lowered is not None and lowered.unavailable is None:
        reached = _with_parents(program.equations, lowered)
    return tuple(
        Eliminated(e.id, ABSENT if reached is None or e.id in reached else NOT_LOWERED)
        for e in program.equations
        if e.id not in seen and any(frame.source is not None for frame in e.frames)
    )


def _with_parents(equations: tuple[Equation, ...], stage: Stage) -> set[int]:
    """Equations behind the lines of a stage, and those around them."""
    found: set[int] = set()
    for number in (number for anchor in stage.anchors for number in anchor.equations):
        current: int | None = number
        while current is not None and current not in found:
            found.add(current)
            current = equations[current].parent
    return found


def reasons(program: Program) -> tuple[Eliminated, ...]:
    """The user's equations without a line in the compiled text, each with what is proven of it.

    Empty as long as the optimized HLO was not fetched.
    """
    compiled = stage_of(program, StageKind.OPTIMIZED_HLO)
    if compiled is None:
        return ()
    lowered = stage_of(program, StageKind.STABLEHLO)
    found = {one.equation: one for one in eliminated(program, compiled, lowered)}
    received = _text(lowered)
    if not found or lowered is None or received is None:
        return tuple(found.values())
    gone = {number for number, one in found.items() if one.reason == NOT_LOWERED}
    made_by = {a.line: a.equations for a in lowered.anchors if a.exact and a.equations}
    if received.computing() <= made_by.keys():
        found |= {number: Eliminated(number, NOT_LOWERED, proven=True) for number in gone}
    traced = stage_of(program, StageKind.JAXPR)
    jaxpr = _text(traced) if gone else None
    if traced is not None and jaxpr is not None:
        for number, lines in _lines(traced, gone).items():
            if all(jaxpr.is_dead(line) for line in lines):
                found[number] = Eliminated(number, UNUSED, proven=True)
    seen = _with_parents(program.equations, compiled)
    is_complete = _all_linked(compiled)
    for number, lines in _lines(lowered, found.keys() - gone).items():
        why: set[str] = set()
        for line in lines:
            reason, twins = received.reason(line)
            if reason == TWICE:
                kept = [e for t in twins for e in made_by.get(t, ())[:1] if e in seen - {number}]
                reason = TWICE.format(_place(program, number, kept[0])) if kept else ""
            why.add(reason if is_complete or reason == DEAD else "")
        if len(why) == 1 and (reason := why.pop()):
            found[number] = Eliminated(number, reason, proven=True)
    return tuple(found.values())


def _text(stage: Stage | None) -> "_Text | None":
    if stage is None or not 0 < len(stage.text) <= _LONGEST:
        return None
    return _Text(stage.kind, stage.text)


def _lines(stage: Stage, wanted: Collection[int]) -> dict[int, list[int]]:
    """The stage's lines of each wanted equation; an approximate match proves nothing."""
    lines: dict[int, list[int]] = {}
    for anchor in stage.anchors:
        if anchor.exact and anchor.equations and anchor.equations[0] in wanted:
            lines.setdefault(anchor.equations[0], []).append(anchor.line)
    return lines


def _all_linked(compiled: Stage) -> bool:
    """Whether every instruction has a link, and so none is left that could be of an equation."""
    known = counted(compiled.text)
    linked = {anchor.line for anchor in compiled.anchors}
    return known is not None and all(i.line in linked for i in real_instructions(known[0]))


def _place(program: Program, equation: int, other: int) -> str:
    """The line of the other equation, where both are of one source."""
    here, there = program.equations[equation].frame, program.equations[other].frame
    if here is None or there is None or here.source != there.source:
        return "a different line"
    return "the same line" if here.span.line == there.span.line else f"line {there.span.line}"


def _opcode(line: IrLine) -> str:
    return line.operation.rpartition(".")[2]


class _Text:
    """The operations of a text by function, the scope of their names."""

    def __init__(self, kind: StageKind, text: str) -> None:
        self._by_line: dict[int, tuple[int, IrLine]] = {}
        # Several where a jaxpr is printed more than once.
        self._defined: dict[tuple[int, str], list[int]] = {}
        self._uses: dict[tuple[int, str], list[int]] = {}
        for function, body in enumerate(ir_functions(kind, text)):
            for line in body.lines:
                for name in line.uses:
                    self._uses.setdefault((function, name), []).append(line.number)
                # Names of arguments, of a function, a region or a jaxpr, have no operation.
                if line.defines and (kind is StageKind.JAXPR or line.text.lstrip()[0] == "%"):
                    if not line.operation:
                        continue
                    self._by_line[line.number] = (function, line)
                    names = line.defines if kind is StageKind.JAXPR else line.defines[:1]
                    for name in names:
                        self._defined.setdefault((function, name), []).append(line.number)
        self._fixed: dict[int, bool] = {}

    def computing(self) -> set[int]:
        """The lines of all operations but constants, which JAX writes without a name."""
        return {n for n, (_, line) in self._by_line.items() if _opcode(line) != "constant"}

    def reason(self, line: int) -> tuple[str, list[int]]:
        """The reason for the elimination of this line's operation, and other lines that compute
        the same value; empty if unknown."""
        known = self._by_line.get(line)
        if known is None:
            return "", []
        if self.is_dead(line):
            return DEAD, []
        if self._is_fixed(line):
            return CONSTANT, []
        if twins := [other for other in self._same.get(line, ()) if other != line]:
            return TWICE, twins
        return MOVED if _opcode(known[1]) in _MOVING else "", []

    def is_dead(self, line: int) -> bool:
        """Whether no result depends on this line's operation."""
        known = self._by_line.get(line)
        return known is not None and not _is_open(known[1]) and line not in self._alive

    def _is_fixed(self, line: int) -> bool:
        """Whether it depends only on constants."""
        waiting, seen = [line], {line}
        while waiting:
            current = waiting.pop()
            known = self._fixed.get(current)
            if known:
                continue
            function, operation = self._by_line[current]
            made = [self._defined.get((function, name), []) for name in operation.uses]
            if known is False or _is_open(operation) or [] in made:
                self._fixed[line] = False
                return False
            new = {other for few in made for other in few} - seen
            seen |= new
            waiting += new
        self._fixed.update(dict.fromkeys(seen, True))
        return True

    @functools.cached_property
    def _same(self) -> dict[int, list[int]]:
        """By line: all lines that compute the same value, by the same operation on the same
        values."""
        groups: dict[tuple[int, str, tuple[str, ...]], list[int]] = {}
        names: dict[tuple[int, str], str] = {}
        found: dict[int, list[int]] = {}
        for number, (function, line) in self._by_line.items():
            if not _is_open(line):
                uses = tuple(names.get((function, name), name) for name in line.uses)
                group = groups.setdefault((function, line.key, uses), [])
                group.append(number)
                found[number] = group
                names[function, line.defines[0]] = self._by_line[group[0]][1].defines[0]
        return found

    @functools.cached_property
    def _alive(self) -> set[int]:
        """Lines that a result may depend on. A line that defines nothing (a `return`, a region)
        keeps all its operands alive, and so does an operation that may have an effect."""
        waiting = [
            (function, name)
            for (function, name), lines in self._uses.items()
            if any((known := self._by_line.get(n)) is None or _is_open(known[1]) for n in lines)
        ]
        live: set[int] = set()
        while waiting:
            key = waiting.pop()
            for made in self._defined.get(key, ()):
                if made not in live:
                    live.add(made)
                    waiting += [(key[0], name) for name in self._by_line[made][1].uses]
        return live


def _is_open(line: IrLine) -> bool:
    """Whether its results may depend on more than its operands, or it may have an effect."""
    return _opcode(line) in _OPEN or "{ lambda" in line.text or "callback" in line.operation
