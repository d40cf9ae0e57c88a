"""The values of an HLO module: its instructions, seen through what only holds or passes them."""

from __future__ import annotations

import re

from jaxscope.analysis.hlo import HloModule, Instruction
from jaxscope.analysis.links.dataflow import DISSOLVED
from jaxscope.analysis.passes.snapshots import plain

HOLDING = frozenset({"parameter", "tuple", "get-tuple-element", *DISSOLVED})
"""Instructions that hold a value and compute none."""
_CALLED = re.compile(
    r",? ?(?:calls|to_apply|condition|body|branch_computations|true_computation|false_computation|"
    r"select|scatter|called_computations|called_computation|comparator|decomposition)="
    r"(?:%[\w.\-]+|\{[^{}]*\})"
)


class Values:
    """The instructions of a module by name, and the instructions that make their operands."""

    def __init__(self, module: HloModule, other: Values | None = None) -> None:
        """`other` is of a similar module: equal instructions are read once for both."""
        self.module = module
        self._callers: dict[str, list[Instruction]] = {}
        for instruction in [i for i in module.by_name.values() if i.called]:
            for called in instruction.called:
                self._callers.setdefault(called, []).append(instruction)
        self._operands: dict[str, tuple[str, ...]] = {}
        self._operations: dict[tuple[str, ...], tuple[str, ...]] = (
            {} if other is None else other._operations
        )

    def operands(self, name: str) -> tuple[str, ...]:
        """The instructions that make its operands, in order."""
        found = self._operands.get(name)
        if found is None:
            instruction = self.module.instruction(name)
            names = () if instruction is None else instruction.operands
            found = self._operands[name] = tuple([self.maker(one) for one in names])
        return found

    def operation(self, instruction: Instruction) -> tuple[str, ...]:
        """It without its operands: opcode, shape without layout, literal, attributes."""
        literal = "" if instruction.operands else instruction.arguments
        shape_text, attributes_text = instruction.shape.text, instruction.attributes_text
        key = (instruction.opcode, shape_text, literal, attributes_text)
        found = self._operations.get(key)
        if found is None:
            leaves = instruction.shape.leaves
            shape = " ".join([f"{leaf.dtype}{list(leaf.dims)}" for leaf in leaves])
            attributes = _CALLED.sub("", plain(attributes_text))
            found = self._operations[key] = (instruction.opcode, shape, literal, attributes)
        return found

    def maker(self, name: str) -> str:
        """The instruction that makes the value of that name.

        A fusion or a call that is the only one of its computation is entered at its root, and left
        at its parameters; elements of tuples are followed.
        """
        elements: list[tuple[int, str]] = []
        seen: set[tuple[str, int]] = set()
        while (name, len(elements)) not in seen:
            seen.add((name, len(elements)))
            instruction = self.module.instruction(name)
            if instruction is None:
                break
            inside = self._entered(instruction)
            if inside is not None and (inside.opcode != "tuple" or elements):
                name = inside.name
            elif instruction.opcode == "get-tuple-element":
                elements.append((int(instruction.attribute("index") or 0), name))
                name = instruction.operands[0]
            elif instruction.opcode == "tuple" and elements:
                name = instruction.operands[elements.pop()[0]]
            elif (given := self._given(instruction)) is not None:
                name = given
            else:
                break
        return elements[-1][1] if elements else name

    def holder(self, name: str) -> str:
        """The fusion or call around an instruction; empty for one in another computation."""
        instruction = self.module.instruction(name)
        callers = self._callers.get(instruction.computation, []) if instruction else []
        return callers[0].name if callers and callers[0].opcode in DISSOLVED else ""

    def inside(self, name: str) -> tuple[str, ...]:
        """The instructions of a fusion or call; of any other, its own name."""
        instruction = self.module.instruction(name)
        if instruction is None or instruction.opcode not in DISSOLVED:
            return (name,)
        return tuple([i.name for i in self.module.inside(instruction) if i.opcode not in HOLDING])

    def _entered(self, instruction: Instruction) -> Instruction | None:
        """The root of its computation, for a fusion or call that has it to itself."""
        if instruction.opcode not in DISSOLVED or len(instruction.called) != 1:
            return None
        if len(self._callers[instruction.called[0]]) != 1:
            return None
        computation = self.module.computation(instruction.called[0])
        return None if computation is None else computation.root

    def _given(self, parameter: Instruction) -> str | None:
        """The operand that a parameter stands for."""
        callers = self._callers.get(parameter.computation, [])
        if parameter.opcode != "parameter" or len(callers) != 1:
            return None
        number = int(parameter.arguments) if parameter.arguments.isdigit() else -1
        caller = callers[0]
        if caller.opcode not in DISSOLVED or not 0 <= number < len(caller.operands):
            return None
        return caller.operands[number]
