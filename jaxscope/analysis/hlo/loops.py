"""Trip counts of while loops."""

import re
from dataclasses import dataclass

from jaxscope.analysis.hlo.module import Computation, HloModule, Instruction

_UNCHANGED = ("copy", "bitcast", "convert", "reshape", "opt-barrier")
_INTEGER = re.compile(r"-?\d+$")
# Deeper than any nesting around a loop counter; a sum of sums costs two to the power of it.
_MAX_DEPTH = 16


def trip_count(module: HloModule, loop: Instruction) -> int | None:
    """The trip count of a while loop: XLA's annotation, else derived from its counter.

    It is derived if the condition compares a counter with a constant, and the counter starts at a
    constant and grows by a constant per iteration, as in `scan` and `fori_loop`. Unoptimized HLO
    has no annotation.
    """
    if loop.trip_count is not None or loop.opcode != "while":
        return loop.trip_count
    attributes = loop.attributes
    condition = module.computation(attributes.get("condition", "").removeprefix("%"))
    body = module.computation(attributes.get("body", "").removeprefix("%"))
    if condition is None or body is None or not loop.operands:
        return None
    test = _value(module, condition.root, _parameter_slots(condition))
    if not isinstance(test, _Compare):
        return None
    counter, bound, direction = test.left, test.right, test.direction
    if not isinstance(counter, _Slot):
        counter, bound, direction = bound, counter, _MIRRORED.get(direction, "")
    if not isinstance(counter, _Slot):
        return None
    start = _carried(module, loop, counter)
    if isinstance(bound, _Slot):
        passed = _slot(module, body, bound)
        bound = _carried(module, loop, bound) if passed == bound else None
    step = _slot(module, body, counter)
    if not (isinstance(start, int) and isinstance(bound, int) and isinstance(step, _Sum)):
        return None
    return _count(start, bound, step.addend, direction) if step.slot == counter else None


_MIRRORED = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE", "NE": "NE", "EQ": "EQ"}


def _count(start: int, bound: int, step: int, direction: str) -> int | None:
    """Iterations of `for (i = start; i <direction> bound; i += step)`."""
    if direction in ("GT", "GE"):
        start, bound, step = -start, -bound, -step
        direction = {"GT": "LT", "GE": "LE"}[direction]
    if direction == "LE":
        bound += 1
    elif direction == "NE":
        return (bound - start) // step if step and (bound - start) % step == 0 else None
    elif direction != "LT":
        return None
    if start >= bound:
        return 0
    return -(-(bound - start) // step) if step > 0 else None


@dataclass(frozen=True, slots=True)
class _Slot:
    """An element of the loop's tuple at the start of the iteration."""

    index: int


@dataclass(frozen=True, slots=True)
class _Sum:
    slot: _Slot
    addend: int


@dataclass(frozen=True, slots=True)
class _Compare:
    left: "_Value"
    right: "_Value"
    direction: str


@dataclass(frozen=True, slots=True)
class _Tuple:
    """A whole tuple: the loop's own (no instruction), or a `tuple` instruction."""

    instruction: Instruction | None
    bindings: "_Bindings"


_Value = int | _Slot | _Sum | _Compare | _Tuple | None
_Bindings = dict[str, "_Value"]


def _parameter_slots(computation: Computation) -> _Bindings:
    return {parameter.name: _Tuple(None, {}) for parameter in computation.parameters}


def _slot(module: HloModule, body: Computation, slot: _Slot) -> _Value:
    """The value that the body passes to the next iteration in that slot."""
    result = _value(module, body.root, _parameter_slots(body))
    return _element(module, result, slot.index, 0)


def _carried(module: HloModule, loop: Instruction, slot: _Slot) -> _Value:
    """The value in the slot before the first iteration."""
    operand = module.instruction(loop.operands[0])
    if operand is None:
        return None
    return _element(module, _value(module, operand, {}), slot.index, 0)


def _element(module: HloModule, value: _Value, index: int, depth: int) -> _Value:
    if not isinstance(value, _Tuple):
        return None
    if value.instruction is None:
        return _Slot(index)
    operands = value.instruction.operands
    source = module.instruction(operands[index]) if index < len(operands) else None
    return _value(module, source, value.bindings, depth + 1) if source else None


def _value(
    module: HloModule, instruction: Instruction, bindings: _Bindings, depth: int = 0
) -> _Value:
    """Follow a loop counter through copies, calls and fusions; None for other values."""
    if depth > _MAX_DEPTH:
        return None
    opcode = instruction.opcode
    if opcode == "parameter":
        if instruction.name in bindings:
            return bindings[instruction.name]
        passed = _argument(module, instruction)
        return _value(module, passed, {}, depth + 1) if passed else None
    if opcode == "constant":
        literal = instruction.arguments.strip()
        return int(literal) if _INTEGER.match(literal) else None
    if opcode == "tuple":
        return _Tuple(instruction, bindings)

    def operand(position: int) -> _Value:
        if position >= len(instruction.operands):
            return None
        source = module.instruction(instruction.operands[position])
        return _value(module, source, bindings, depth + 1) if source else None

    if opcode in _UNCHANGED:
        return operand(0)
    if opcode == "get-tuple-element":
        index = instruction.attribute("index")
        return _element(module, operand(0), int(index), depth) if index else None
    if opcode == "compare":
        direction = instruction.attribute("direction") or ""
        return _Compare(operand(0), operand(1), direction)
    if opcode in ("add", "subtract"):
        return _sum(operand(0), operand(1), -1 if opcode == "subtract" else 1)
    if opcode in ("fusion", "call") and instruction.called:
        callee = module.computation(instruction.called[0])
        if callee is None:
            return None
        inner = {p.name: operand(i) for i, p in enumerate(callee.parameters)}
        return _value(module, callee.root, inner, depth + 1)
    return None


def _argument(module: HloModule, parameter: Instruction) -> Instruction | None:
    """The argument for a parameter, if its computation has a single caller.

    XLA for CPU moves a small loop into a computation of its own (jaxlib 0.12).
    """
    callers = [i for i in module.instructions() if parameter.computation in i.called]
    if len(callers) != 1 or callers[0].opcode != "call" or not parameter.arguments.isdigit():
        return None
    number = int(parameter.arguments)
    operands = callers[0].operands
    return module.instruction(operands[number]) if number < len(operands) else None


def _sum(left: _Value, right: _Value, sign: int) -> _Value:
    if isinstance(left, int) and isinstance(right, int):
        return left + sign * right
    if isinstance(left, _Slot) and isinstance(right, int):
        return _Sum(left, sign * right)
    if isinstance(right, _Slot) and isinstance(left, int) and sign > 0:
        return _Sum(right, left)
    if isinstance(left, _Sum) and isinstance(right, int):
        return _Sum(left.slot, left.addend + sign * right)
    return None
