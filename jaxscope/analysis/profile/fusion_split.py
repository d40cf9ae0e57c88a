"""Whose work an instruction does: the parts of a fusion by an estimate of their cost.

A profile has one event for a fusion and none inside it. What its lines took together is measured;
how much each of them took is not even a defined number, since fused operations share loads, stores
and registers. The split is therefore a model, and is shown as one: relative costs of operations on
a CPU, or, where a caller has them, seconds measured in a build without fusion.
"""

from __future__ import annotations

import collections
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from jaxscope.analysis.cost.arithmetic import convolution_flops, dot_flops
from jaxscope.analysis.hlo import HloModule, Instruction, trip_count

K = TypeVar("K")
"""What time is given to: a line with its direction, or an equation."""

Owners = Mapping[str, tuple[K, bool]]
"""Instruction → whose it is, and whether that is sure."""

FREE = frozenset({
    "parameter", "constant", "tuple", "get-tuple-element", "bitcast", "reshape", "opt-barrier",
    "after-all", "partition-id", "replica-id",
})  # fmt: skip
"""These take no time of their own."""

_OPENED = frozenset({"fusion", "call", "while", "conditional", "custom-call", "async-start"})

_DEEPEST = 8
"""Levels of computations inside computations; XLA nests fusions in calls in loops, hardly more."""

# Nanoseconds for an element in one fused loop on x86-64 with AVX2, each the difference of two
# operations and one; medians of nine on one machine. Only their ratios are used.
_ELEMENT: Mapping[str, float] = {
    "exponential": 1.0, "exponential-minus-one": 1.0, "logistic": 1.0, "log": 1.5,
    "log-plus-one": 1.5, "atan2": 1.5, "tanh": 2.0, "sine": 3.0, "cosine": 3.0, "tan": 3.0,
    "power": 6.0, "cbrt": 6.0, "erf": 2.0, "divide": 0.5, "remainder": 0.5, "sqrt": 0.5,
    "rsqrt": 0.5,
}  # fmt: skip
_PLAIN = 0.25
_BROADCAST = 0.08
_REDUCED = 0.3
"""For each element that goes in."""
_SORTED = 40.0
_FLOP = 1 / 60
"""ns for one FLOP of a matrix product or convolution."""


@dataclass(frozen=True, slots=True)
class Work(Generic[K]):
    """Whose an instruction's time is."""

    parts: Mapping[K, float]
    """Weights of the owners; only their ratios matter. Empty when there is none."""
    sure: bool
    """All of it is known by tags or frames."""


class Weigher(Generic[K]):
    """Opens the instructions of one module."""

    def __init__(
        self,
        module: HloModule,
        owners: Owners[K],
        seen: Collection[str] = (),
        measured: Mapping[K, float] | None = None,
    ) -> None:
        """`seen` are instructions with events of their own: what holds one of these is a
        container and not opened. `measured` are seconds by owner from a build without fusion."""
        self._module = module
        self._owners = owners
        self._seen = frozenset(seen)
        self._measured = measured

    def work(self, name: str) -> Work[K]:
        """Whose work the instruction does; its inside, unless that has events of its own."""
        instruction = self._module.instruction(name)
        if instruction is None:
            return Work({}, False)
        inside: dict[K, float] = collections.defaultdict(float)
        sure = [True]
        if instruction.opcode in _OPENED and not self.runs_others(instruction):
            self._open(instruction, 1.0, inside, sure, 0)
        if not inside:
            owner = self._owners.get(name)
            return Work({}, False) if owner is None else Work({owner[0]: 1.0}, owner[1])
        if self._measured and all(self._measured.get(one) for one in inside):
            inside = {one: self._measured[one] for one in inside}
        return Work(dict(inside), sure[0])

    def runs_others(self, instruction: Instruction) -> bool:
        """Something that it calls has events of its own."""
        waiting, known = list(instruction.called), set[str]()
        while waiting:
            name = waiting.pop()
            computation = self._module.computation(name)
            if name in known or computation is None:
                continue
            known.add(name)
            for inner in computation.instructions:
                if inner.name in self._seen:
                    return True
                waiting += inner.called
        return False

    def _open(
        self,
        instruction: Instruction,
        times: float,
        inside: dict[K, float],
        sure: list[bool],
        depth: int,
    ) -> None:
        if instruction.opcode == "while":
            times *= trip_count(self._module, instruction) or 1
        for name in instruction.called:
            computation = self._module.computation(name)
            for inner in computation.instructions if computation is not None else ():
                if inner.opcode in _OPENED and inner.called and depth < _DEEPEST:
                    self._open(inner, times, inside, sure, depth + 1)
                    continue
                owner = self._owners.get(inner.name)
                if inner.opcode in FREE or owner is None:
                    continue
                inside[owner[0]] += times * self.cost(inner)
                sure[0] = sure[0] and owner[1]

    def cost(self, instruction: Instruction) -> float:
        """Estimated ns of one instruction as part of a fused loop; never 0."""
        elements = max(instruction.shape.elements, 1)
        first = self._operand_elements(instruction)
        match instruction.opcode:
            case "dot" | "convolution":
                return max(self._products(instruction) * _FLOP, 1e-3)
            case "reduce" | "reduce-window" | "select-and-scatter":
                return first * _REDUCED
            case "sort":
                return first * _SORTED
            case "broadcast" | "iota":
                return elements * _BROADCAST
            case opcode:
                return elements * _ELEMENT.get(opcode, _PLAIN)

    def _operand_elements(self, instruction: Instruction) -> int:
        names = instruction.operands[:1]
        operand = self._module.instruction(names[0]) if names else None
        return max(operand.shape.elements if operand is not None else 1, 1)

    def _products(self, instruction: Instruction) -> float:
        operands = [self._module.instruction(name) for name in instruction.operands[:2]]
        shapes = [operand.shape for operand in operands if operand is not None]
        if len(shapes) < 2:
            return float(instruction.shape.elements)
        if instruction.opcode == "dot":
            return dot_flops(instruction, shapes)
        return convolution_flops(instruction, shapes, instruction.shape)
