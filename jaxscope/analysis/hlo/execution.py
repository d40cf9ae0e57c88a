"""What of a module runs, and how often: real instructions, loops, branches."""

import re
from dataclasses import dataclass

from jaxscope.analysis.hlo.module import Computation, HloModule, Instruction

# Bookkeeping that computes and moves nothing.
_NOT_REAL = frozenset({"parameter", "constant", "tuple", "get-tuple-element", "bitcast"})

_PATHS = ("copy", "bitcast", "convert", "reshape", "opt-barrier")
_INTEGER = re.compile(r"-?\d+$")
# Above any nesting of calls and fusions around a loop counter; a sum of sums costs two to this.
_MAX_DEPTH = 16


@dataclass(frozen=True, slots=True)
class Executions:
    """How often a computation runs in one run of the program."""

    times: float
    """A lower bound where a loop is unknown, an upper bound where a branch is; see `doubts`."""
    known: bool
    doubts: tuple[str, ...] = ()
    """Names of the while and conditional instructions whose count is not known."""


def real_instructions(module: HloModule) -> tuple[Instruction, ...]:
    """The instructions that figures speak of.

    Every instruction of every computation except parameter, constant, tuple, get-tuple-element,
    bitcast, and copies added by layout assignment. Those copies are known by having no op_name:
    a copy that JAX asked for has one.
    """
    return tuple(
        instruction
        for instruction in module.instructions()
        if instruction.opcode not in _NOT_REAL
        and not (instruction.opcode == "copy" and not instruction.op_name)
    )


def executed_times(module: HloModule) -> dict[str, Executions]:
    """How often each computation runs in one run of the program, by name.

    A loop's body runs its trip count, its condition once more; an unknown trip count counts as 1.
    Each branch of a conditional counts as taken every time, and as not known. A computation that
    an instruction applies to elements (the `to_apply` of reduce, sort, map, scatter) counts once
    for each run of that instruction. Computations nobody calls run 0 times.
    """
    times = {c.name: 0.0 for c in module.computations}
    doubts: dict[str, set[str]] = {c.name: set() for c in module.computations}
    times[module.entry] = 1.0
    # A text lists callees before callers, so the reverse order has every caller done first.
    for computation in _callers_first(module):
        for instruction in computation.instructions:
            for called, factor, doubt in _calls(module, instruction):
                if called not in times or not times[computation.name]:
                    continue
                times[called] += times[computation.name] * factor
                doubts[called] |= doubts[computation.name]
                if doubt:
                    doubts[called].add(instruction.name)
    return {
        name: Executions(times[name], not doubts[name], tuple(sorted(doubts[name])))
        for name in times
    }


def _callers_first(module: HloModule) -> list[Computation]:
    """Callers before callees, whatever the order of the text.

    Iterative, because a chain of calls can be deeper than Python's stack.
    """
    order: list[Computation] = []
    state: dict[str, bool] = {}
    stack = [(module.entry, False)]
    while stack:
        name, finished = stack.pop()
        computation = module.computation(name)
        if computation is None or (not finished and name in state):
            continue
        if finished:
            order.append(computation)
            continue
        state[name] = True
        stack.append((name, True))
        stack += [
            (called, False)
            for instruction in computation.instructions
            for called in instruction.called
            if called not in state
        ]
    order.reverse()
    return order


def _calls(module: HloModule, instruction: Instruction) -> list[tuple[str, float, bool]]:
    """(computation, runs for each run of the instruction, in doubt) of everything it calls."""
    if instruction.opcode == "while":
        count = trip_count(module, instruction)
        attributes = instruction.attributes
        body = attributes.get("body", "").removeprefix("%")
        condition = attributes.get("condition", "").removeprefix("%")
        unknown = count is None
        factor = 1.0 if count is None else float(count)
        return [(body, factor, unknown), (condition, factor + (not unknown), unknown)]
    in_doubt = instruction.opcode == "conditional"
    return [(called, 1.0, in_doubt) for called in instruction.called]


def trip_count(module: HloModule, loop: Instruction) -> int | None:
    """How often a while loop runs: as XLA wrote it down, else derived from its counter.

    Derived are loops whose condition compares a counter with a constant, where the counter starts
    at a constant and each round adds one: what `scan` and `fori_loop` make. Before optimisation
    XLA has written nothing down yet, so there this is the only way.
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
    """Rounds of `for (i = start; i <direction> bound; i += step)`."""
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
    """An element of the loop's tuple as it was when the round began."""

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
    """A whole tuple: the loop's own (no parts), or one built of known instructions."""

    instruction: Instruction | None
    bindings: "_Bindings"


_Value = int | _Slot | _Sum | _Compare | _Tuple | None
_Bindings = dict[str, "_Value"]


def _parameter_slots(computation: Computation) -> _Bindings:
    return {parameter.name: _Tuple(None, {}) for parameter in computation.parameters}


def _slot(module: HloModule, body: Computation, slot: _Slot) -> _Value:
    """What the body hands to the next round in that slot."""
    result = _value(module, body.root, _parameter_slots(body))
    return _element(module, result, slot.index, 0)


def _carried(module: HloModule, loop: Instruction, slot: _Slot) -> _Value:
    """What the slot holds before the first round."""
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
    """Follow a loop counter through copies, calls and fusions; None for anything else."""
    if depth > _MAX_DEPTH:
        return None
    opcode = instruction.opcode
    if opcode == "parameter":
        return bindings.get(instruction.name)
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

    if opcode in _PATHS:
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
