"""Split the time of a fusion among its lines or equations, by an estimate of their cost.

A profile has one event per fusion and none inside it. The time of its lines together is measured;
the time of each is not even well defined, since fused operations share loads, stores and registers.
The split is therefore a model, and shown as one: relative CPU costs of operations, or, where a
caller has them, seconds measured with isolated lines.
"""

from __future__ import annotations

import collections
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from jaxscope.analysis.cost.arithmetic import convolution_flops, dot_flops
from jaxscope.analysis.hlo import HloModule, Instruction, trip_count
from jaxscope.analysis.links.attribution import MOVING

K = TypeVar("K")
"""The owner of time: a line with its direction, or an equation."""

Owners = Mapping[str, tuple[K, bool]]
"""Instruction → its owner, and whether that is sure."""

FREE = frozenset({
    "parameter", "constant", "tuple", "get-tuple-element", "bitcast", "reshape", "opt-barrier",
    "after-all", "partition-id", "replica-id",
})  # fmt: skip
"""Instructions that take no time."""

_OPENED = frozenset({"fusion", "call", "while", "conditional", "custom-call", "async-start"})

_DEEPEST = 8
"""Levels of nested computations; XLA nests fusions in calls in loops, hardly deeper."""

# Nanoseconds per element in one fused loop on x86-64 with AVX2, each the difference of two
# operations and one; medians of nine on one machine. Only their ratios matter.
_ELEMENT: Mapping[str, float] = {
    "exponential": 1.0, "exponential-minus-one": 1.0, "logistic": 1.0, "log": 1.5,
    "log-plus-one": 1.5, "atan2": 1.5, "tanh": 2.0, "sine": 3.0, "cosine": 3.0, "tan": 3.0,
    "power": 6.0, "cbrt": 6.0, "erf": 2.0, "divide": 0.5, "remainder": 0.5, "sqrt": 0.5,
    "rsqrt": 0.5,
}  # fmt: skip
_PLAIN = 0.25
_BROADCAST = 0.08
_REDUCED = 0.3
"""Per input element."""
_SORTED = 40.0
_FLOP = 1 / 60
"""ns per FLOP of a matrix product or convolution."""


@dataclass(frozen=True, slots=True)
class OwnerWeights(Generic[K]):
    """The owners of an instruction's time."""

    parts: Mapping[K, float]
    """Weights by owner; only their ratios matter. Empty when there is no owner."""
    inferred: Mapping[K, float]
    """The shares of these weights that no tag or frame confirms, 0 to 1."""
    unknown: float = 0.0
    """The weight of what has no owner."""
    possible: frozenset[K] = frozenset()
    """The owners that it may have."""


@dataclass(slots=True)
class _Inside(Generic[K]):
    """Weights found inside an instruction."""

    parts: collections.defaultdict[K, float] = field(
        default_factory=lambda: collections.defaultdict(float)
    )
    inferred: collections.defaultdict[K, float] = field(
        default_factory=lambda: collections.defaultdict(float)
    )
    unknown: float = 0.0
    possible: set[K] = field(default_factory=set)


def containers(module: HloModule, seen: Collection[str]) -> frozenset[str]:
    """The instructions with events that run others with events: loops, branches, calls."""
    splitter: FusionSplitter[None] = FusionSplitter(module, {}, seen)
    return frozenset(
        name
        for name in seen
        if (instruction := module.instruction(name)) is not None
        and splitter.runs_others(instruction)
    )


class FusionSplitter(Generic[K]):
    """Finds the owners of one module's instructions, inside fusions too."""

    def __init__(
        self,
        module: HloModule,
        owners: Owners[K],
        seen: Collection[str] = (),
        measured: Mapping[K, float] | None = None,
        possible: Mapping[str, frozenset[K]] | None = None,
    ) -> None:
        """`possible` are the owners that an instruction without one may have. `seen` are
        instructions with events of their own: whatever contains one is not opened. `measured` are
        seconds by owner, from isolated lines."""
        self._module = module
        self._owners = owners
        self._seen = frozenset(seen)
        self._measured = measured
        self._possible = possible or {}

    def owners_of(self, name: str) -> OwnerWeights[K]:
        """The owners of the instruction's inside, unless that has events of its own."""
        instruction = self._module.instruction(name)
        if instruction is None:
            return OwnerWeights({}, {})
        inside = _Inside[K]()
        if instruction.opcode in _OPENED and not self.runs_others(instruction):
            self._open(instruction, 1.0, inside, 0)
        if not inside.parts and not inside.unknown:
            owner = self._owners.get(name)
            if owner is None:
                return OwnerWeights({}, {}, possible=self._possible.get(name, frozenset()))
            return OwnerWeights({owner[0]: 1.0}, {} if owner[1] else {owner[0]: 1.0})
        parts = inside.parts
        inferred = {one: weight / parts[one] for one, weight in inside.inferred.items()}
        if self._measured and not inside.unknown and all(map(self._measured.get, parts)):
            parts = {one: self._measured[one] for one in parts}
        return OwnerWeights(dict(parts), inferred, inside.unknown, frozenset(inside.possible))

    def runs_others(self, instruction: Instruction) -> bool:
        """Whether something that it calls has events of its own."""
        waiting, known = self._module.called(instruction), set[str]()
        while waiting:
            computation = waiting.pop()
            if computation.name in known:
                continue
            known.add(computation.name)
            for inner in computation.instructions:
                if inner.name in self._seen:
                    return True
                waiting += self._module.called(inner)
        return False

    def _open(
        self,
        instruction: Instruction,
        times: float,
        inside: _Inside[K],
        depth: int,
    ) -> None:
        if instruction.opcode == "while":
            times *= trip_count(self._module, instruction) or 1
        for inner in self._module.inside(instruction):
            if inner.opcode in _OPENED and inner.called and depth < _DEEPEST:
                self._open(inner, times, inside, depth + 1)
                continue
            if inner.opcode in FREE:
                continue
            owner, weight = self._owners.get(inner.name), times * self.cost(inner)
            if owner is not None:
                inside.parts[owner[0]] += weight
                if not owner[1]:
                    inside.inferred[owner[0]] += weight
            elif inner.opcode not in MOVING:
                inside.unknown += weight
                inside.possible |= self._possible.get(inner.name, frozenset())

    def cost(self, instruction: Instruction) -> float:
        """Estimated ns of one instruction as part of a fused loop; never 0."""
        elements = max(instruction.shape.elements, 1)
        shapes = [operand.shape for operand in self._module.operands(instruction)[:2]]
        first = max(shapes[0].elements if shapes else 1, 1)
        match instruction.opcode:
            case "dot" if len(shapes) == 2:
                return max(dot_flops(instruction, shapes) * _FLOP, 1e-3)
            case "convolution" if len(shapes) == 2:
                flops = convolution_flops(instruction, shapes, instruction.shape)
                return max(flops * _FLOP, 1e-3)
            case "reduce" | "reduce-window" | "select-and-scatter":
                return first * _REDUCED
            case "sort":
                return first * _SORTED
            case "broadcast" | "iota":
                return elements * _BROADCAST
            case opcode:
                return elements * _ELEMENT.get(opcode, _PLAIN)
