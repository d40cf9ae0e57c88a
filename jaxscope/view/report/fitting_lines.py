"""The lines of a long text that a static report shows: of an HLO text its costliest part."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

from jaxscope.analysis.cost import ProgramCost, counted
from jaxscope.analysis.hlo import Computation, HloModule, Instruction

_ENTRY = re.compile(r"ENTRY\b")


def first_lines(lines: Sequence[str], width: int, room: int) -> list[int]:
    """The numbers of the first lines that fit into so many characters, each cut at `width`."""
    sizes = [min(len(line), width) + 1 for line in lines]
    return list(range(1, 1 + sum(end <= room for end in itertools.accumulate(sizes))))


def costliest_lines(text: str, lines: Sequence[str], width: int, room: int) -> list[int]:
    """Lines of an HLO text in the order to show them: the heading, the entry computation, and then
    what it calls, the costliest first.

    A computation that does not fit as a whole has its costliest instructions, and ends the list.
    """
    left = room
    shown: list[int] = []
    for block in _blocks(text, lines) if lines else ():
        sizes = {number: min(len(lines[number - 1]), width) + 1 for number in block}
        if sum(sizes.values()) <= left:
            shown += sorted(block)
            left -= sum(sizes.values())
            continue
        ends = itertools.accumulate(sizes.values())
        shown += sorted(n for n, end in zip(block, ends, strict=True) if end <= left)
        break
    return shown


def _blocks(text: str, lines: Sequence[str]) -> Iterator[list[int]]:
    """The lines of each computation, the costliest computation and line first."""
    known = counted(text)
    everything = range(1, len(lines) + 1)
    if known is None:
        start = next((n for n in everything if _ENTRY.match(lines[n - 1])), 1)
        yield from ([1], list(range(max(start, 2), len(lines) + 1)), list(range(2, start)))
        return
    module, cost = known
    weights = _weights(module, cost)
    yield [1]
    taken = {1}
    for computation in _costliest_first(module, weights):
        numbers = [n for n in range(computation.line, computation.end_line + 1) if n not in taken]
        taken.update(numbers)
        cost_of = {i.line: weights.get(i.name, 0.0) for i in computation.instructions}
        # The heading and the result say which computation it is.
        cost_of[computation.line] = cost_of[computation.root.line] = float("inf")
        yield sorted(numbers, key=lambda n: (-cost_of.get(n, 0.0), n))


def _weights(module: HloModule, cost: ProgramCost) -> dict[str, float]:
    """By instruction: its share of the FLOPs and of the bytes, with all that it calls."""
    own = {
        row.name: row.times
        * (
            (row.flops or 0.0) / (cost.flops or 1.0)
            + (row.bytes_accessed or 0.0) / (cost.bytes_accessed or 1.0)
        )
        for row in (*cost.by_instruction, *cost.fused)
    }
    whole: dict[str, float] = {}
    weights: dict[str, float] = {}

    def weight(instruction: Instruction) -> float:
        # A fusion has the cost of what it holds.
        called = () if instruction.opcode == "fusion" else instruction.called
        held = sum([whole.get(name, 0.0) for name in called]) if called else 0.0
        return own.get(instruction.name, 0.0) + held

    for computation in module.computations:  # callees come first
        found = {i.name: weight(i) for i in computation.instructions}
        weights |= found
        whole[computation.name] = sum(found.values())
    return weights


def _costliest_first(module: HloModule, weights: dict[str, float]) -> list[Computation]:
    """The entry computation, then the others by the costliest instruction that calls each."""
    called: dict[str, float] = {module.entry: float("inf")}
    for instruction in module.instructions():
        for name in instruction.called:
            called[name] = max(called.get(name, 0.0), weights[instruction.name])
    return sorted(module.computations, key=lambda c: (-called.get(c.name, -1.0), c.line))
