"""The cost of one run of a program by instruction, loops multiplied out."""

import functools
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

from jaxscope.analysis.cost.arithmetic import CostCounts
from jaxscope.analysis.cost.counter import CONTAINERS, CostCounter
from jaxscope.analysis.cost.custom_calls import CustomCallCost, estimate_custom_call
from jaxscope.analysis.hlo import (
    Computation,
    HloModule,
    Instruction,
    callers_first,
    calls,
    executed_times,
    parsed,
    too_long,
)


class InstructionCost(NamedTuple):
    """The cost of one execution of an instruction; None where a figure is unknown."""

    name: str
    flops: float | None
    bytes_accessed: float | None
    transcendentals: float | None
    times: float
    """Executions per run of the program, as far as the totals count them."""
    known: bool
    """False if the figures or `times` are estimates or bounds."""


@dataclass(frozen=True, slots=True)
class ProgramCost:
    """The cost of one run of the program."""

    flops: float
    bytes_accessed: float
    transcendentals: float
    by_instruction: tuple[InstructionCost, ...]
    """Executed instructions with a cost. Figures times `times` add up to the totals."""
    fused: tuple[InstructionCost, ...]
    """The work inside fusions, to attribute it; the fusion itself includes it."""
    _: KW_ONLY
    unknown: tuple[str, ...]
    """One sentence for each part that the totals miss or only bound."""
    estimated: tuple[str, ...]
    """One sentence for each figure from a formula for the problem."""
    partial: bool
    """Whether a call is not counted, because its cost is unknown."""


def program_cost(module: HloModule) -> ProgramCost:
    """Count a whole program by the rules in the package's docstring."""
    return _ProgramCounter(module).count()


# The record, the text and the HTML of one run need the same counts.
@functools.lru_cache(maxsize=4)
def counted(text: str) -> tuple[HloModule, ProgramCost] | None:
    """The optimized HLO and its cost; None where the text is missing, too long or unknown."""
    if not text or too_long(text):
        return None
    try:
        module = parsed(text)
        return module, program_cost(module)
    except Exception:  # XLA may change its text at any time: then only the figures are missing
        return None


UNKNOWN_LENGTH = "runs an unknown number of times"
"""In the sentence on a loop whose trip count is unknown."""
_PRODUCTS = ("dot", "convolution", "custom-call")
_HALF = ("bf16", "f16")


def product_dtype(module: HloModule, cost: ProgramCost) -> str:
    """`bfloat16` where most FLOPs in matrix products and convolutions are of 16-bit numbers, which
    units for products multiply faster; else `float32`."""
    half = other = 0.0
    for row in (*cost.by_instruction, *cost.fused):
        instruction = module.instruction(row.name)
        if instruction is None or instruction.opcode not in _PRODUCTS or not row.flops:
            continue
        if any(source.shape.dtype in _HALF for source in module.operands(instruction)[:1]):
            half += row.flops * row.times
        else:
            other += row.flops * row.times
    return "bfloat16" if half > other else "float32"


_Note = tuple[str, str]
"""The name of an instruction, and a remark on it."""


def _sentences(notes: Sequence[_Note]) -> tuple[str, ...]:
    """The remarks in order; one that applies to many instructions is written once."""
    names: dict[str, list[str]] = {}
    for name, text in notes:
        names.setdefault(text, []).append(name)
    return tuple(
        [
            f"{named[0]} {text}"
            if len(named) == 1
            else f"{named[0]} and {len(named) - 1} more: each {text}"
            for text, named in names.items()
        ]
    )


class _ProgramCounter:
    def __init__(self, module: HloModule) -> None:
        self._module = module
        self._counter = CostCounter(module)
        self._executions = executed_times(module)
        self._totals: dict[str, CostCounts] = {}
        self._unknown: list[_Note] = []
        self._estimated: list[_Note] = []
        self._partial = False

    def count(self) -> ProgramCost:
        if any(i.opcode == "conditional" for i in self._module.instructions()):
            # Only a choice between branches needs totals. The text lists callees first, so
            # counting in its order keeps deeply nested calls off Python's stack.
            for computation in self._module.computations:
                self._total(computation)
        rows: list[InstructionCost] = []
        fused: list[InstructionCost] = []
        for computation, times in self._runs():
            known = self._executions[computation.name].known
            for instruction in computation.instructions:
                if (row := self._row(instruction, times, known)) is not None:
                    rows.append(row)
                if instruction.opcode == "fusion":
                    fused += self._inside(instruction, times, known)
        return ProgramCost(
            flops=sum((row.flops or 0) * row.times for row in rows),
            bytes_accessed=sum((row.bytes_accessed or 0) * row.times for row in rows),
            transcendentals=sum((row.transcendentals or 0) * row.times for row in rows),
            by_instruction=tuple(rows),
            fused=tuple(fused),
            unknown=_sentences(self._unknown),
            estimated=_sentences(self._estimated),
            partial=self._partial,
        )

    def _runs(self) -> list[tuple[Computation, float]]:
        """Every computation that runs by itself, with its executions; cheaper branches with 0."""
        times = {self._module.entry: 1.0}
        runs: list[tuple[Computation, float]] = []
        for computation in callers_first(self._module):
            here = times.get(computation.name)
            if here is None:
                continue
            runs.append((computation, here))
            for instruction in computation.instructions:
                for callee, factor in self._factors(instruction, noting=True):
                    times[callee.name] = times.get(callee.name, 0.0) + here * factor
        return runs

    def _total(self, computation: Computation) -> CostCounts:
        """One run of a computation, its loops multiplied out."""
        if (known := self._totals.get(computation.name)) is not None:
            return known
        total = CostCounts()
        for instruction in computation.instructions:
            if instruction.opcode in CONTAINERS:
                for callee, factor in self._factors(instruction, noting=False):
                    total += self._total(callee) * factor
            elif not computation.is_fused:
                total += self._counter.of_instruction(instruction)
        self._totals[computation.name] = total
        return total

    def _factors(
        self, instruction: Instruction, *, noting: bool
    ) -> list[tuple[Computation, float]]:
        """The computations that a container calls, with their executions per run of it."""
        if instruction.opcode not in CONTAINERS:
            return []
        called = self._module.called(instruction)
        if instruction.opcode == "conditional" and called:
            return self._branches(instruction, called, noting=noting)
        made = calls(self._module, instruction)
        if noting and any(unknown for *_, unknown in made):
            text = f"{UNKNOWN_LENGTH}; its body is counted once."
            self._unknown.append((instruction.name, text))
        factors = {name: factor for name, factor, _ in made}
        return [(callee, factors[callee.name]) for callee in called]

    def _branches(
        self, conditional: Instruction, called: list[Computation], *, noting: bool
    ) -> list[tuple[Computation, float]]:
        costs = [(total.work, total.bytes_accessed) for total in map(self._total, called)]
        dearest = costs.index(max(costs))
        if noting and len(called) > 1:
            text = (
                f"takes one of {len(called)} branches; the most expensive, "
                f"{called[dearest].name}, is counted."
            )
            self._unknown.append((conditional.name, text))
        return [(callee, float(number == dearest)) for number, callee in enumerate(called)]

    def _row(self, instruction: Instruction, times: float, known: bool) -> InstructionCost | None:
        """The cost of an instruction that is not a container; None if it costs nothing."""
        if instruction.opcode in CONTAINERS:
            return None
        if instruction.custom_call_target is not None:
            estimate = self._estimate(instruction)
            if estimate is None:
                row = InstructionCost(instruction.name, None, None, None, times, known=False)
                return row if instruction.shape.bytes else None  # a callback that only prints
            known = known and not estimate.basis
        cost = self._counter.of_instruction(instruction)
        if not (cost.flops or cost.bytes_accessed or cost.transcendentals):
            return None
        figures = cost.flops, cost.bytes_accessed, cost.transcendentals
        return InstructionCost(instruction.name, *figures, times, known=known)

    def _estimate(self, call: Instruction) -> CustomCallCost | None:
        """The estimated cost of a custom call, with a remark; None where it is unknown."""
        estimate = estimate_custom_call(call, self._counter.operands(call))
        target = call.custom_call_target
        if estimate is None:
            text = f"calls {target}, whose cost is unknown; it is not counted."
            self._unknown.append((call.name, text))
            self._partial = True
        elif estimate.basis:
            text = f"calls {target}: FLOPs estimated as {estimate.basis}."
            self._estimated.append((call.name, text))
        return estimate

    def _inside(self, fusion: Instruction, times: float, known: bool) -> Iterator[InstructionCost]:
        """Work of the instructions in a fusion. Bytes are 0, because data inside is not moved."""
        for instruction in self._module.inside(fusion):
            if instruction.custom_call_target is not None:
                self._estimate(instruction)
            cost = self._counter.of_instruction(instruction)
            if cost.flops or cost.transcendentals:
                figures = cost.flops, 0.0, cost.transcendentals
                yield InstructionCost(instruction.name, *figures, times, known=known)
