"""XLA's own rules of counting, where they differ from ours: for comparisons with its sums."""

from __future__ import annotations

import math

from jaxscope.analysis.cost.arithmetic import CostCounts
from jaxscope.analysis.cost.counter import CostCounter
from jaxscope.analysis.cost.traffic import FusionTraffic, common_bytes
from jaxscope.analysis.hlo import HloModule, Instruction, Shape, numbers


def xla_cost(
    module: HloModule, *, pointer_bytes: int = 8, tuple_results_as_arrays: bool = True
) -> CostCounts:
    """The sums of `compiled.cost_analysis()`: loop bodies once, a custom call as -1.

    The rules are those of jaxlib 0.10. Others differ only in tuples: jaxlib 0.8 counts them as
    index tables (`tuple_results_as_arrays=False`), jaxlib 0.12 has `pointer_bytes=4` in one.
    """
    counter = XlaCounter(module, pointer_bytes, tuple_results_as_arrays)
    # The text lists callees first, so no recursion is deeper than one step.
    for computation in module.computations:
        counter.of_computation(computation)
    return counter.of_computation(module.entry_computation)


class XlaCounter(CostCounter):
    def __init__(self, module: HloModule, pointer_bytes: int, results_as_arrays: bool) -> None:
        super().__init__(module)
        self._traffic = XlaTraffic(module)
        self._pointer_bytes = pointer_bytes
        self._results_as_arrays = results_as_arrays

    def of_instruction(self, instruction: Instruction) -> CostCounts:
        if instruction.opcode == "custom-call":
            return CostCounts(-1, 0, -1)
        return super().of_instruction(instruction)

    def _size(self, shape: Shape) -> int:
        """Of a tuple, its index table."""
        return self._pointer_bytes * len(shape.parts) if shape.is_tuple else shape.bytes

    def _moved(self, instruction: Instruction, operands: list[Shape]) -> float:
        shape = instruction.shape
        if instruction.opcode == "tuple":
            return self._size(shape)
        arrays = self._results_as_arrays or instruction.opcode.startswith("all-reduce")
        output = shape.bytes if arrays else self._size(shape)
        return common_bytes(instruction, operands, output, list(map(self._size, operands)))

    def _fusion(self, fusion: Instruction) -> CostCounts:
        inside = self._module.inside(fusion)
        gathers = [i for i in inside if i.opcode in ("gather", "scatter")]
        if gathers and fusion.attribute("kind") == "kCustom":
            return self.of_instruction(gathers[0])
        return super()._fusion(fusion)

    def _work(self, instruction: Instruction, operands: list[Shape]) -> CostCounts:
        if instruction.opcode == "fft":
            return CostCounts(fft_flops(instruction, operands))
        return super()._work(instruction, operands)

    def _real_operations(self, opcode: str, operands: list[Shape]) -> int:
        """HandleElementwiseOp, GetDotFlops: one, of any type."""
        return 1


def fft_flops(instruction: Instruction, operands: list[Shape]) -> float:
    """HandleFft: 8 n times the product of the logarithms of the transformed axes."""
    lengths = numbers(instruction.attribute("fft_length"))
    logarithms = math.prod(max(0, length.bit_length() - 1) for length in lengths)
    return 8 * logarithms * operands[0].leaves[0].elements


class XlaTraffic(FusionTraffic):
    def _written_by(self, root: Instruction) -> float:
        return root.shape.bytes if root.opcode == "bitcast" else super()._written_by(root)

    def _touched(self, value: Instruction) -> float:
        """FusionParameterReadBytes, exactly."""
        total = 0.0
        seen_trivial_user = False
        for user in self._uses(value):
            if user.opcode == "fusion":
                total += self._read_by_nested(user, value)
                continue
            amount = self._sliced(value, user)
            if user.opcode in ("broadcast", "reshape"):
                total += value.shape.bytes
            elif amount is not None:
                total += amount
            elif not seen_trivial_user:
                seen_trivial_user = True
                total += value.shape.bytes
        return total

    def _sliced(self, value: Instruction, user: Instruction) -> float | None:
        """Bytes that a slicing user reads; None for a user that reads the whole value."""
        is_first = user.operands[0] == value.name
        if user.opcode == "slice" or (user.opcode == "dynamic-slice" and is_first):
            return user.shape.bytes
        if user.opcode == "dynamic-update-slice" and is_first:
            return 0.0
        return None

    def _read_by_nested(self, fusion: Instruction, value: Instruction) -> float:
        """Bytes read by a nested fusion; for a trivial one, by its own users."""
        total = 0.0
        inner = self._module.computation(fusion.called[0])
        if inner is None:
            return total
        for parameter in self._inner_parameters(fusion, value):
            simple = not inner.root.operands or inner.root.operands[0] == parameter.name
            seen_trivial_user = False
            for user in self._uses(fusion):
                amount = self._sliced(fusion, user) if simple else None
                slices = user.opcode in ("dynamic-slice", "dynamic-update-slice")
                if amount is not None:
                    total += amount
                elif not seen_trivial_user:
                    seen_trivial_user = True
                    by_index = simple and slices
                    total += fusion.shape.bytes if by_index else self._touched(parameter)
        return total
