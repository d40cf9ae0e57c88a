"""Sources and users of the values of a compiled program, looking through data movement."""

from collections.abc import Iterator
from dataclasses import dataclass

from jaxscope.analysis.hlo import HloModule, Instruction, users
from jaxscope.model import CollectiveKind

_MOVING = frozenset({
    "copy", "copy-start", "copy-done", "bitcast", "transpose", "reshape", "convert",
    "get-tuple-element", "slice", "dynamic-slice", "concatenate", "pad", "broadcast",
    "opt-barrier", "reverse", "dynamic-update-slice",
})  # fmt: skip
"""They change the position of elements or how they are stored, not the elements."""

_COLLECTIVE = frozenset(
    [f"{kind}{end}" for kind in CollectiveKind for end in ("", "-start", "-done")]
)
_INERT = frozenset({"parameter", "constant", "iota", "partition-id", "replica-id"})
_PASSIVE = _MOVING | _INERT | {"tuple"}
# Integers of one element, such as the offsets of a slice: index arithmetic.
_INDEX_ELEMENTS = 1


@dataclass(frozen=True, slots=True)
class HloUse:
    """An instruction that computes with a value."""

    instruction: Instruction
    operand: str
    """The name of the value as its operand."""


class HloDataflow:
    """Users and sources of the values of a module. Fusions are looked into."""

    def __init__(self, module: HloModule) -> None:
        self._module = module
        self._users = users(module.instructions())
        self._moving: dict[str, bool] = {}
        root = module.entry_computation.root
        self._outputs: dict[str, list[int]] = {root.name: [0]}
        for number, operand in enumerate(root.operands if root.opcode == "tuple" else ()):
            self._outputs.setdefault(operand, []).append(number)
        self._fusions = module.callers("fusion")

    def users(self, instruction: Instruction) -> tuple[Instruction, ...]:
        """The instructions with the value as an operand."""
        return tuple(self._users.get(instruction.name, ()))

    def uses(self, instruction: Instruction) -> tuple[list[HloUse], tuple[int, ...]]:
        """The instructions that compute with a value, and the program results that it becomes."""
        uses: list[HloUse] = []
        results: list[int] = []
        seen: set[str] = set()
        waiting = [instruction.name]
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            results += self._outputs.get(name, ())
            for user in self._users.get(name, ()):
                if user.opcode in _MOVING or user.opcode in _COLLECTIVE:
                    waiting.append(user.name)
                elif user.opcode == "tuple":
                    uses += [HloUse(loop, user.name) for loop in self._users.get(user.name, ())]
                elif user.opcode == "fusion":
                    if self._only_moves(user):
                        waiting.append(user.name)
                    else:
                        uses += self._inside(user, name)
                else:
                    uses.append(HloUse(user, name))
        return uses, tuple(dict.fromkeys(results))

    def parameters(self, name: str) -> tuple[int, ...]:
        """The parameters of the program that a value is a copy of, through data movement alone.

        Empty when anything is computed on the way, or it is a parameter of a loop.
        """
        parameters, computed, from_outside = self._source(name)
        return () if computed or from_outside else tuple(sorted(parameters))

    def is_computed(self, name: str) -> bool:
        """Whether a value is computed in the same computation, from no parameter directly."""
        parameters, computed, from_outside = self._source(name)
        return computed and not from_outside and not parameters

    def _source(self, name: str) -> tuple[set[int], bool, bool]:
        """The parameters behind a value, past instructions that only move data; whether anything is
        computed on the way; whether it is a parameter of a loop, a branch or a called computation.
        """
        parameters: set[int] = set()
        computed = from_outside = False
        seen: set[str] = set()
        waiting = [name]
        while waiting:
            current = self._module.instruction(waiting.pop())
            if current is None or current.name in seen:
                continue
            seen.add(current.name)
            if current.opcode == "parameter":
                outer = self._outer(current)
                if outer is not None:
                    waiting.append(outer)
                elif current.computation == self._module.entry and current.arguments.isdigit():
                    parameters.add(int(current.arguments))
                else:
                    from_outside = True
            elif current.opcode in _MOVING or current.opcode in _COLLECTIVE:
                waiting += current.operands
            elif current.opcode == "fusion" and self._only_moves(current):
                waiting += [o for o in current.operands if not self._is_index(o)]
            elif not self._is_index(current.name) and current.opcode not in _INERT:
                computed = True
        return parameters, computed, from_outside

    def is_uniform(self, name: str) -> bool:
        """Whether all elements of an array are equal: any sharding of it is free."""
        instruction = self._module.instruction(name)
        while instruction is not None and instruction.shape.elements > 1:
            if instruction.opcode == "parameter" and (outer := self._outer(instruction)):
                instruction = self._module.instruction(outer)
            elif instruction.opcode in ("broadcast", "bitcast", "reshape", "copy"):
                instruction = self._module.instruction(instruction.operands[0])
            else:
                return instruction.opcode in ("constant", "iota")
        return True

    def _outer(self, parameter: Instruction) -> str | None:
        """The operand of a fusion for a parameter of its computation."""
        fusion = self._fusions.get(parameter.computation)
        if fusion is None or not parameter.arguments.isdigit():
            return None
        number = int(parameter.arguments)
        return fusion.operands[number] if number < len(fusion.operands) else None

    def _inside(self, fusion: Instruction, operand: str) -> Iterator[HloUse]:
        """The instructions inside a fusion that compute with its operand."""
        for inner in self._module.called(fusion):
            for parameter, given in zip(inner.parameters, fusion.operands, strict=False):
                if given == operand:
                    uses, _ = self.uses(parameter)
                    yield from uses

    def _only_moves(self, fusion: Instruction) -> bool:
        known = self._moving.get(fusion.name)
        if known is None:
            inner = list(self._module.inside(fusion))
            known = bool(inner) and all(
                i.opcode in _PASSIVE or self._is_index(i.name) for i in inner
            )
            self._moving[fusion.name] = known
        return known

    def _is_index(self, name: str) -> bool:
        instruction = self._module.instruction(name)
        if instruction is None or instruction.shape.is_tuple:
            return False
        shape = instruction.shape
        return shape.dtype[0] in "su" and shape.elements <= _INDEX_ELEMENTS
