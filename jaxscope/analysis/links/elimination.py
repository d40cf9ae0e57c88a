"""Reasons for eliminated equations, read from the StableHLO that XLA received.

XLA does not report its rewrites. Certain are those that its input proves: an operation that depends
on no input, one that occurs twice, one that no result depends on. Other reasons stay vague.
"""

import functools
from collections import Counter
from dataclasses import dataclass

from jaxscope.analysis.diff.ir_functions import IrLine, ir_functions
from jaxscope.analysis.links.line_figures import stage_of
from jaxscope.model import Equation, Program, Stage, StageKind

ABSENT = "not in the compiled program: folded, merged or dead"
UNUSED = "dead-code elimination by JAX: no result depends on it"
CONSTANT = "constant folding: it depends on no input, so XLA computed it while compiling"
TWICE = "common-subexpression elimination: the same value is computed elsewhere"
DEAD = "dead-code elimination by XLA: no result depends on it"
MERGED = "merged into the operation that reads it, or simplified away"
MOVED = "it only moves, repeats or renames data, which XLA reads in place"

GONE = frozenset({CONSTANT, TWICE, DEAD, MOVED, UNUSED})
"""Certain reasons. With any other, the work may be part of a different instruction."""

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
        Eliminated(e.id, ABSENT if reached is None or e.id in reached else UNUSED)
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
    """The user's equations without a line in the compiled text, each with the best reason.

    Empty as long as the optimized HLO was not fetched.
    """
    compiled = stage_of(program, StageKind.OPTIMIZED_HLO)
    if compiled is None:
        return ()
    lowered = stage_of(program, StageKind.STABLEHLO)
    found = {one.equation: one for one in eliminated(program, compiled, lowered)}
    vague = {number for number, one in found.items() if one.reason == ABSENT}
    if vague and lowered is not None and 0 < len(lowered.text) <= _LONGEST:
        text = _Text(lowered.text)
        lines: dict[int, list[int]] = {}
        for anchor in lowered.anchors:
            # An approximate match proves nothing.
            if anchor.exact and anchor.equations and anchor.equations[0] in vague:
                lines.setdefault(anchor.equations[0], []).append(anchor.line)
        for number, those in lines.items():
            why = {text.reason(line) for line in those}
            if len(why) == 1 and (reason := why.pop()):
                found[number] = Eliminated(number, reason)
    return tuple(found.values())


def _opcode(line: IrLine) -> str:
    return line.operation.rpartition(".")[2]


class _Text:
    """The operations of a module by function, the scope of their names."""

    def __init__(self, text: str) -> None:
        self._by_line: dict[int, tuple[int, IrLine]] = {}
        self._defined: dict[tuple[int, str], int] = {}
        self._twins = Counter[tuple[int, str, tuple[str, ...]]]()
        self._uses: dict[tuple[int, str], list[int]] = {}
        for function, body in enumerate(ir_functions(StageKind.STABLEHLO, text)):
            for line in body.lines:
                for name in line.uses:
                    self._uses.setdefault((function, name), []).append(line.number)
                # Names of arguments, of the function or of a region, have no operation.
                if line.text.lstrip().startswith("%"):
                    self._by_line[line.number] = (function, line)
                    self._defined[function, line.defines[0]] = line.number
                    self._twins[function, line.key, line.uses] += 1
        self._fixed: dict[int, bool] = {}

    def reason(self, line: int) -> str:
        """The reason for the elimination of this line's operation; empty if unknown."""
        known = self._by_line.get(line)
        if known is None:
            return ""
        function, operation = known
        if self._is_fixed(line):
            return CONSTANT
        if _opcode(operation) not in _OPEN:
            if self._twins[function, operation.key, operation.uses] > 1:
                return TWICE
            if line not in self._alive:
                return DEAD
        return MOVED if _opcode(operation) in _MOVING else MERGED

    def _is_fixed(self, line: int) -> bool:
        """Whether it depends only on constants."""
        waiting, seen = [line], {line}
        while waiting:
            current = waiting.pop()
            known = self._fixed.get(current)
            if known:
                continue
            function, operation = self._by_line[current]
            made = [self._defined.get((function, name)) for name in operation.uses]
            if known is False or _opcode(operation) in _OPEN or None in made:
                self._fixed[line] = False
                return False
            new = {other for other in made if other is not None} - seen
            seen |= new
            waiting += new
        self._fixed.update(dict.fromkeys(seen, True))
        return True

    @functools.cached_property
    def _alive(self) -> set[int]:
        """Lines that a result may depend on. A line that defines nothing (a `return`, a region)
        keeps all its operands alive, and so does an operation that may have an effect."""
        waiting = [
            (function, name)
            for (function, name), lines in self._uses.items()
            if any(
                (known := self._by_line.get(line)) is None or _opcode(known[1]) in _OPEN
                for line in lines
            )
        ]
        live: set[int] = set()
        while waiting:
            made = self._defined.get(key := waiting.pop())
            if made is not None and made not in live:
                live.add(made)
                waiting += [(key[0], name) for name in self._by_line[made][1].uses]
        return live
