"""Counts the cost of instructions and computations, each computation once."""

import functools
import math
from dataclasses import replace
from typing import Any

from jaxscope.analysis.cost import arithmetic
from jaxscope.analysis.cost.arithmetic import ELEMENTWISE, TRANSCENDENTAL, CostCounts
from jaxscope.analysis.cost.custom_calls import estimate_custom_call
from jaxscope.analysis.cost.traffic import FREE, FusionTraffic, instruction_bytes
from jaxscope.analysis.hlo import Computation, HloModule, Instruction, Shape

# Run other computations and do nothing themselves.
CONTAINERS = frozenset({"while", "conditional", "call", "async-start", "call-start"})

# These apply a computation to elements.
_APPLYING = frozenset({
    "map", "reduce", "reduce-window", "scatter", "select-and-scatter",
})  # fmt: skip

# The cost of these depends on more than their opcode and the shapes of result and operands.
_BY_ATTRIBUTES = _APPLYING | {"dot", "ragged-dot", "convolution", "fft", "transpose"}

# Native operations that end in -start; any other such name is an asynchronous wrapper.
_NATIVE_STARTS = frozenset({
    "all-gather-start", "all-reduce-start", "collective-permute-start", "copy-start",
})  # fmt: skip

_NOTHING = CostCounts()


class CostCounter:
    """Applies the rules to one module and caches each computation's counts."""

    def __init__(self, module: HloModule) -> None:
        self._module = module
        self._traffic = FusionTraffic(module)
        self._computations: dict[str, CostCounts] = {}
        self._instructions: dict[str, CostCounts] = {}
        self._by_shapes: dict[tuple[str, ...], CostCounts] = {}
        self._structures: dict[str, tuple[Any, ...]] = {}
        self._by_structure: dict[tuple[Any, ...], tuple[CostCounts, list[CostCounts]]] = {}

    def of_computation(self, computation: Computation) -> CostCounts:
        """The sum over its instructions, each run once."""
        known = self._computations.get(computation.name)
        if known is None:
            costs = list(map(self.of_instruction, computation.instructions))
            known = self._computations[computation.name] = CostCounts(
                sum([cost.flops for cost in costs]),
                sum([cost.transcendentals for cost in costs]),
                sum([cost.bytes_accessed for cost in costs]),
            )
        return known

    def of_instruction(self, instruction: Instruction) -> CostCounts:
        """The cost of one run with everything it calls; zero for an opaque custom call."""
        known = self._instructions.get(instruction.name)
        if known is None:
            known = self._instructions[instruction.name] = self._of_instruction(instruction)
        return known

    def _of_instruction(self, instruction: Instruction) -> CostCounts:
        if instruction.opcode in FREE:
            return _NOTHING
        if instruction.opcode == "fusion":
            return self._fusion(instruction)
        if instruction.opcode in CONTAINERS:
            costs = map(self.of_computation, self._module.called(instruction))
            joined = CostCounts.most if instruction.opcode == "conditional" else CostCounts.__add__
            return functools.reduce(joined, costs, CostCounts())
        if instruction.opcode == "custom-call":
            estimate = estimate_custom_call(instruction, self.operands(instruction))
            return estimate.cost if estimate else CostCounts()
        if instruction.opcode.endswith("-start") and instruction.opcode not in _NATIVE_STARTS:
            # The operation inside `op-start`, whose shape is (operands, result, context).
            shape = (*instruction.shape.parts[1:2], instruction.shape)[0]
            opcode = instruction.opcode.removesuffix("-start")
            return self.of_instruction(instruction._replace(opcode=opcode, shape=shape))
        operands = self.operands(instruction)
        if instruction.opcode in _BY_ATTRIBUTES:
            return self._counted(instruction, operands)
        # A program repeats few shapes many times.
        key = (instruction.opcode, instruction.shape.text, *[shape.text for shape in operands])
        known = self._by_shapes.get(key)
        if known is None:
            known = self._by_shapes[key] = self._counted(instruction, operands)
        return known

    def operands(self, instruction: Instruction) -> list[Shape]:
        """The shapes of its operands."""
        return [source.shape for source in self._module.operands(instruction)]

    def _counted(self, instruction: Instruction, operands: list[Shape]) -> CostCounts:
        applied = self._applied if instruction.opcode in _APPLYING else self._work
        work = applied(instruction, operands)
        return replace(work, bytes_accessed=self._moved(instruction, operands))

    def _moved(self, instruction: Instruction, operands: list[Shape]) -> float:
        return instruction_bytes(instruction, operands)

    def _fusion(self, fusion: Instruction) -> CostCounts:
        return sum(map(self._fused, self._module.called(fusion)), CostCounts())

    def _fused(self, fused: Computation) -> CostCounts:
        """The cost of a fusion; the layers of a model repeat few, of which each is counted once."""
        structure = self._structure(fused)
        known = self._by_structure.get(structure)
        if known is None:
            moved = self._traffic.bytes_accessed(fused)
            total = replace(self.of_computation(fused), bytes_accessed=moved)
            costs = [self._instructions[instruction.name] for instruction in fused.instructions]
            self._by_structure[structure] = total, costs
            return total
        total, costs = known
        self._instructions.update(zip([i.name for i in fused.instructions], costs, strict=True))
        return total

    def _structure(self, computation: Computation) -> tuple[Any, ...]:
        """Everything that its costs depend on; the same for computations with other names."""
        known = self._structures.get(computation.name)
        if known is not None:
            return known
        places: dict[str, int] = {}
        parts: list[Any] = []
        for place, instruction in enumerate(computation.instructions):
            places[instruction.name] = place
            parts += (instruction.opcode, instruction.shape.text)
            parts += [places.get(operand, -1) for operand in instruction.operands]
            if instruction.opcode == "parameter":
                parts.append(instruction.arguments)
            elif instruction.called or instruction.opcode in _BY_ATTRIBUTES:
                attributes = instruction.attributes_text.partition("metadata=")[0]
                for called in self._module.called(instruction):
                    attributes = attributes.replace(f"%{called.name}", "")
                    parts.append(self._structure(called))
                parts.append(attributes)
        found = (*parts, places[computation.root.name])
        self._structures[computation.name] = found
        return found

    def _applied(self, instruction: Instruction, operands: list[Shape]) -> CostCounts:
        """The applied computation, times its number of applications."""
        costs = list(map(self.of_computation, self._module.called(instruction)))
        if not costs:
            return CostCounts()
        output = instruction.shape.parts[0] if instruction.shape.parts else instruction.shape
        if instruction.opcode == "map":
            return costs[0] * output.elements
        if instruction.opcode == "reduce":
            return costs[0] * (operands[0].elements - output.elements)
        if instruction.opcode == "reduce-window":
            return costs[0] * arithmetic.reduce_window_applications(instruction, output)
        if instruction.opcode == "scatter":
            return costs[0] * operands[len(operands) // 2 + 1].elements
        # select-and-scatter: one select less than the window has elements, then one scatter.
        sources, selects = operands[1].elements, math.prod(arithmetic.window_sizes(instruction))
        return costs[0] * (sources * (selects - 1)) + costs[-1] * sources

    def _work(self, instruction: Instruction, operands: list[Shape]) -> CostCounts:
        elements = instruction.shape.elements
        match instruction.opcode:
            case "dot" | "ragged-dot":
                flops = arithmetic.dot_flops(instruction, operands)
            case "convolution":
                flops = arithmetic.convolution_flops(instruction, operands, instruction.shape)
            case "fft":
                flops = arithmetic.fft_flops(instruction, operands)
            case "sort":
                flops = arithmetic.sort_flops(operands)
            case "cholesky":
                flops = arithmetic.cholesky_flops(operands)
            case "triangular-solve":
                flops = arithmetic.triangular_solve_flops(operands)
            case opcode if opcode in TRANSCENDENTAL:
                return CostCounts(transcendentals=elements)
            case opcode:
                flops = elements if opcode in ELEMENTWISE else 0.0
        return CostCounts(flops * self._real_operations(instruction.opcode, operands))

    def _real_operations(self, opcode: str, operands: list[Shape]) -> int:
        return arithmetic.real_operations(opcode, operands)
