"""Why an equation left no instruction: read from the StableHLO that XLA was given.

XLA does not say what it does to an operation. What can be known for certain is known from the
program that it got: an operation that no input takes part in, one that stands there twice, one
that no result depends on. For the others the reason is as vague as the knowledge.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from jaxscope.analysis.links.line_figures import stage_of
from jaxscope.analysis.links.links import FOLDED, UNUSED, Vanished, vanished
from jaxscope.model import Program, StageKind

CONSTANT = "XLA computed it while compiling: no input takes part in it"
TWICE = "the same is computed elsewhere in the program: XLA kept one of the two"
DEAD = "XLA left it out, since no result depends on it"
MERGED = "XLA merged it with what reads its result, or simplified it away"
MOVED = "it only moves, repeats or renames data: XLA reads the data where it lies"

GONE = frozenset({CONSTANT, TWICE, DEAD, MOVED, UNUSED})
"""Reasons that are known for certain: what has another may well run as part of something else."""

_MOVING = frozenset({
    "bitcast_convert", "broadcast", "broadcast_in_dim", "concatenate", "convert", "pad", "reshape",
    "reverse", "slice", "transpose",
})  # fmt: skip
# Their results depend on more than their operands, or they hold what does.
_OPEN = frozenset({
    "call", "case", "composite", "custom_call", "if", "infeed", "optimization_barrier",
    "partition_id", "recv", "replica_id", "rng", "while",
})  # fmt: skip
_OPERATION = re.compile(r'\s*(%[\w#$.\-]+)(?::\d+)? = "?(?:[a-z_]+\.)?([\w]+)"?(.*)')
_NAME = re.compile(r"%[\w$.\-]+")
_FUNCTION = re.compile(r"\s*func\.func\b")
_LONGEST = 4_000_000
"""Characters of a module that is read for reasons."""


@dataclass(frozen=True, slots=True)
class _Operation:
    name: str
    opcode: str
    rest: str
    operands: tuple[str, ...]


def reasons(program: Program) -> tuple[Vanished, ...]:
    """The user's equations that no line of the compiled text came from, each with the best reason.

    Empty as long as the optimized HLO was not fetched.
    """
    compiled = stage_of(program, StageKind.OPTIMIZED_HLO)
    if compiled is None:
        return ()
    lowered = stage_of(program, StageKind.STABLEHLO)
    sources = {f.source for e in program.equations for f in e.frames if f.source is not None}
    found: dict[int, Vanished] = {}
    for source in sorted(sources):
        for one in vanished(program, compiled, lowered, source):
            found.setdefault(one.equation, one)
    vague = {number for number, one in found.items() if one.reason == FOLDED}
    if vague and lowered is not None and 0 < len(lowered.text) <= _LONGEST:
        text = _Text(lowered.text)
        lines: dict[int, list[int]] = {}
        for anchor in lowered.anchors:
            # A line that may be another's proves nothing.
            if anchor.exact and anchor.equations and anchor.equations[0] in vague:
                lines.setdefault(anchor.equations[0], []).append(anchor.line)
        for number, those in lines.items():
            why = {text.reason(line) for line in those}
            if len(why) == 1 and (reason := why.pop()):
                found[number] = Vanished(number, reason)
    return tuple(found[number] for number in sorted(found))


class _Text:
    """The operations of a module, each in its function: names mean something only there."""

    def __init__(self, text: str) -> None:
        self._by_line: dict[int, tuple[int, _Operation]] = {}
        self._defined: dict[tuple[int, str], int] = {}
        self._twins = Counter[tuple[int, str, str]]()
        self._uses: dict[tuple[int, str], list[int]] = {}
        function = 0
        for number, line in enumerate(text.split("\n"), 1):
            if _FUNCTION.match(line):
                function = number
                continue
            found = _OPERATION.match(line)
            names = tuple(_NAME.findall(found[3] if found else line))
            for name in names:
                self._uses.setdefault((function, name), []).append(number)
            if found is not None:
                name = found[1].partition("#")[0]
                operation = _Operation(name, found[2], found[3], names)
                self._by_line[number] = (function, operation)
                self._defined[function, name] = number
                self._twins[function, operation.opcode, operation.rest] += 1
        self._fixed: dict[int, bool] = {}
        self._live: set[int] | None = None

    def reason(self, line: int) -> str:
        """Why the operation of this line is not in the compiled program; empty if not known."""
        known = self._by_line.get(line)
        if known is None:
            return ""
        function, operation = known
        if self._is_fixed(line):
            return CONSTANT
        if operation.opcode not in _OPEN:
            if self._twins[function, operation.opcode, operation.rest] > 1:
                return TWICE
            if line not in self._alive():
                return DEAD
        return MOVED if operation.opcode in _MOVING else MERGED

    def _is_fixed(self, line: int) -> bool:
        """Whether it depends on constants alone."""
        waiting, seen = [line], {line}
        while waiting:
            current = waiting.pop()
            if (known := self._fixed.get(current)) is not None:
                if not known:
                    self._fixed[line] = False
                    return False
                continue
            function, operation = self._by_line[current]
            if operation.opcode in _OPEN:
                self._fixed[line] = False
                return False
            for name in operation.operands:
                made = self._defined.get((function, name))
                if made is None:  # an argument, of the function or of a region
                    self._fixed[line] = False
                    return False
                if made not in seen:
                    seen.add(made)
                    waiting.append(made)
        self._fixed.update(dict.fromkeys(seen, True))
        return True

    def _alive(self) -> set[int]:
        """Lines that some result may depend on. What defines nothing, a `return` or the line of a
        region, keeps everything alive that it names, and so does what may have an effect."""
        if self._live is None:
            waiting = [
                (function, name)
                for (function, name), lines in self._uses.items()
                if any(
                    (known := self._by_line.get(line)) is None or known[1].opcode in _OPEN
                    for line in lines
                )
            ]
            self._live = set()
            while waiting:
                made = self._defined.get(key := waiting.pop())
                if made is not None and made not in self._live:
                    self._live.add(made)
                    waiting += [(key[0], name) for name in self._by_line[made][1].operands]
        return self._live
