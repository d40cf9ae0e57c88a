"""Bytes that an instruction reads and writes, and those through the boundary of a fusion.

The rules are those of xla/service/hlo_cost_analysis.cc, except where the package's docstring says
otherwise.
"""

from collections.abc import Sequence

from jaxscope.analysis.hlo import Computation, HloModule, Instruction, Shape, numbers, users

# Their data stays in place; only the compiler's view of it changes.
FREE = frozenset({
    "parameter", "constant", "get-tuple-element", "bitcast", "domain", "after-all",
    "add-dependency",
})  # fmt: skip

# These read as much of their first operand as they return.
_BY_INDEX = ("dynamic-slice", "gather")

# immediate_constant_max_elements: a smaller constant is part of the code.
_IMMEDIATE_ELEMENTS = 1


def instruction_bytes(instruction: Instruction, operands: Sequence[Shape]) -> float:
    """Bytes of an instruction that is neither a fusion nor a call of computations."""
    opcode, parts = instruction.opcode, instruction.shape.parts
    sizes = [operand.bytes for operand in operands]
    if opcode in ("tuple", "opt-barrier") or opcode.endswith(("-done", "-update")):
        return 0
    if opcode == "send":
        return sizes[0]
    if opcode == "recv":
        return parts[0].bytes
    if opcode == "copy-start":
        return 2 * sizes[0]
    if opcode.endswith("-start") and opcode != "all-reduce-start" and len(parts) > 1:
        # Native collectives: (inputs, outputs, context...).
        return sum(sizes) + parts[1].bytes
    return common_bytes(instruction, operands, instruction.shape.bytes, sizes)


def common_bytes(
    instruction: Instruction, operands: Sequence[Shape], output: int, sizes: Sequence[int]
) -> float:
    """The rules that XLA and we have in common, for a result and operands of these sizes."""
    opcode = instruction.opcode
    if opcode in FREE or (opcode == "transpose" and _is_view(instruction, operands)):
        return 0
    if opcode == "slice":
        return 2 * output
    if opcode == "dynamic-slice":
        return 2 * output + _at(sizes, 1)
    if opcode == "dynamic-update-slice":
        return 2 * sizes[1] + _at(sizes, 2)
    if opcode == "gather":
        return 2 * output + sizes[1]
    if opcode == "scatter":
        inputs = (len(sizes) - 1) // 2
        return 3 * sum(sizes[inputs + 1 :]) + sizes[inputs]
    if opcode == "triangular-solve":
        return output + sizes[0] / 2 + sizes[1]
    if opcode == "cholesky":
        return sizes[0]
    if opcode == "infeed":
        return instruction.shape.bytes
    if opcode == "outfeed":
        return sum(operand.bytes for operand in operands)
    return output + sum(sizes)


def _at(sizes: Sequence[int], position: int) -> int:
    """The size at a position; 0 where the sliced array has no dimensions."""
    return sizes[position] if position < len(sizes) else 0


def _is_view(transpose: Instruction, operands: Sequence[Shape]) -> bool:
    """IsEffectiveBitcast: layout and dimensions are permuted alike, so no data moves."""
    permutation = numbers(transpose.attribute("dimensions"))
    if len(permutation) != len(operands[0].dims):
        return False
    moved = tuple(permutation[dim] for dim in transpose.shape.minor_to_major)
    return moved == operands[0].minor_to_major


class FusionTraffic:
    """Bytes that fusions read and write: parameters, results and large constants, nothing inside.

    Caches the users of each value in a fused computation.
    """

    def __init__(self, module: HloModule) -> None:
        self._module = module
        self._users: dict[str, dict[str, list[Instruction]]] = {}

    def bytes_accessed(self, fused: Computation) -> float:
        """HandleFusion: bytes through the boundary of a fusion around that computation."""
        written = self._written(fused)
        constants = sum(
            instruction.shape.bytes
            for instruction in fused.instructions
            if instruction.opcode == "constant" and instruction.shape.elements > _IMMEDIATE_ELEMENTS
        )
        return written + constants + sum(map(self._read, fused.parameters))

    def _written(self, fused: Computation) -> float:
        """FusionProcessOutputBytesAccessed: an in-place update writes only the update."""
        root = fused.root
        if not root.shape.is_tuple:
            return self._written_by(root)
        if root.opcode != "tuple":
            return root.shape.bytes
        return sum(
            part.shape.bytes if part.shape.is_tuple else self._written_by(part)
            for part in self._module.operands(root)
        )

    def _written_by(self, root: Instruction) -> float:
        while root.opcode == "bitcast" and self._module.operands(root):
            root = self._module.operands(root)[0]
        if root.opcode == "dynamic-update-slice":
            update = self._module.instruction(root.operands[1])
            return update.shape.bytes if update else root.shape.bytes
        return root.shape.bytes

    def _read(self, parameter: Instruction) -> float:
        if not parameter.shape.is_tuple:
            return self._touched(parameter)
        elements = (user for user in self._uses(parameter) if user.opcode == "get-tuple-element")
        return sum(map(self._read, elements))

    def _touched(self, value: Instruction) -> float:
        """Bytes read of a parameter: its slices or rows, or all of it once."""
        total = 0.0
        for user in self._uses(value):
            is_first = user.operands[0] == value.name
            if user.opcode == "slice" or (user.opcode in _BY_INDEX and is_first):
                total += user.shape.bytes
            elif user.opcode == "dynamic-update-slice" and is_first:
                # Updated in place: the rest is not read.
                continue
            elif user.opcode == "bitcast":
                total += self._touched(user)
            elif user.opcode == "fusion":
                total += sum(map(self._touched, self._inner_parameters(user, value)))
            else:
                return value.shape.bytes
        return min(total, value.shape.bytes)

    def _inner_parameters(self, fusion: Instruction, value: Instruction) -> list[Instruction]:
        parameters = [p for inner in self._module.called(fusion)[:1] for p in inner.parameters]
        pairs = zip(fusion.operands, parameters, strict=False)
        return [parameter for operand, parameter in pairs if operand == value.name]

    def _uses(self, value: Instruction) -> list[Instruction]:
        known = self._users.get(value.computation)
        if known is None:
            computation = self._module.computation(value.computation)
            known = users(computation.instructions if computation else ())
            self._users[value.computation] = known
        return known.get(value.name, [])
