"""A module without calls, each replaced by the instructions that it runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from jaxscope.analysis.hlo.module import Computation, HloModule, Instruction

_COPIED = frozenset({"while", "conditional"})
"""Instructions whose computations are copied with each call around them."""
MOST = 1_000_000
"""Instructions of the largest result."""


class TooLargeError(Exception):
    """Functions that call others many times would become too many instructions."""


def inlined(module: HloModule) -> HloModule | None:
    """The module with every call inlined, as XLA does; None for more than `MOST` instructions.

    A call's name precedes the names of its instructions, and its name stack theirs. Nothing else
    of the text is kept.
    """
    called = {name for i in module.instructions() if i.opcode == "call" for name in i.called}
    made = _Inlined(module)
    try:
        for computation in module.computations:
            if computation.name not in called:
                made.copy(computation, "", "")
    except TooLargeError:
        return None
    return HloModule(module.name, tuple(made.computations), module.entry, "", module.stack_frames)


class _Inlined:
    def __init__(self, module: HloModule) -> None:
        self.computations: list[Computation] = []
        self._module = module
        self._size = 0

    def copy(self, computation: Computation, site: str, stack: str) -> str:
        """Add a computation with its calls inlined, under a name that is returned."""
        name = site + computation.name
        found: list[Instruction] = []
        root = self._expand(computation, name, site, stack, {}, found)
        instructions = tuple(
            [
                i if i.is_root == (i.name == root) else i._replace(is_root=i.name == root)
                for i in found
            ]
        )
        self.computations.append(
            dataclasses.replace(computation, name=name, instructions=instructions)
        )
        return name

    def _expand(
        self,
        computation: Computation,
        home: str,
        site: str,
        stack: str,
        arguments: Mapping[int, str],
        found: list[Instruction],
    ) -> str:
        """Append the instructions; the name of the value that the computation returns."""
        names: dict[str, str] = {}
        for instruction in computation.instructions:
            number = int(instruction.arguments) if instruction.arguments.isdigit() else 0
            if instruction.opcode == "parameter" and number in arguments:
                names[instruction.name] = arguments[number]
                continue
            operands = tuple(names.get(one, site + one) for one in instruction.operands)
            op_name = "/".join(part for part in (stack, instruction.op_name) if part)
            called = self._module.called(instruction)
            inner = f"{site}{instruction.name}/"
            if instruction.opcode == "call" and called:
                names[instruction.name] = self._expand(
                    called[0], home, inner, op_name, dict(enumerate(operands)), found
                )
                continue
            copies = instruction.called
            if site and instruction.opcode in _COPIED:
                copies = tuple(self.copy(one, inner, stack) for one in called)
            self._size += 1
            if self._size > MOST:
                raise TooLargeError
            made = instruction
            if site or operands != instruction.operands:
                made = instruction._replace(
                    name=site + instruction.name,
                    operands=operands,
                    called=copies,
                    op_name=op_name if instruction.op_name else "",
                    computation=home,
                )
            found.append(made)
            names[instruction.name] = made.name
        return names[computation.root.name]
