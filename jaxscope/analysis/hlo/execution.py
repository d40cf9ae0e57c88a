"""Executed instructions and computations of a module, and how often they run."""

from dataclasses import dataclass

from jaxscope.analysis.hlo.loops import trip_count
from jaxscope.analysis.hlo.module import Computation, HloModule, Instruction

# These compute and move nothing.
_NOT_REAL = frozenset({"parameter", "constant", "tuple", "get-tuple-element", "bitcast"})

# JAX primitives that only move data: a copy named after one of them is that operation.
_MOVING = frozenset({
    "broadcast_in_dim", "copy", "copy_p", "device_put", "expand_dims", "reshape", "rev", "squeeze",
    "transpose",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Executions:
    """Executions of a computation per run of the program."""

    times: float
    """A lower bound inside an unknown loop, an upper bound inside a branch."""
    known: bool
    """Whether no loop or branch around it has an unknown count."""


def real_instructions(module: HloModule) -> tuple[Instruction, ...]:
    """The instructions that figures count.

    Every instruction of every computation except parameter, constant, tuple, get-tuple-element,
    bitcast, and copies that XLA added for layouts and loops. Such a copy has no op_name, or that
    of the operation it serves (`.../cholesky`, `.../while`); a copy that JAX requested ends in a
    primitive that moves data.
    """
    return tuple(
        instruction
        for instruction in module.instructions()
        if instruction.opcode not in _NOT_REAL
        and (instruction.opcode != "copy" or instruction.op_name.rpartition("/")[2] in _MOVING)
    )


def executed_times(module: HloModule) -> dict[str, Executions]:
    """Executions of each computation per run of the program, by name.

    A loop's body runs its trip count, its condition once more; an unknown trip count counts as 1.
    Each branch of a conditional counts as taken every time, and as unknown. A computation that an
    instruction applies to elements (the `to_apply` of reduce, sort, map, scatter) counts once per
    execution of that instruction. Uncalled computations run 0 times.
    """
    times = {c.name: 0.0 for c in module.computations}
    uncertain: set[str] = set()
    times[module.entry] = 1.0
    for computation in callers_first(module):
        for instruction in module.calling(computation.name):
            for called, factor, unknown in calls(module, instruction):
                if called not in times or not times[computation.name]:
                    continue
                times[called] += times[computation.name] * factor
                if unknown or computation.name in uncertain:
                    uncertain.add(called)
    return {name: Executions(number, name not in uncertain) for name, number in times.items()}


def callers_first(module: HloModule) -> list[Computation]:
    """Computations reachable from the entry, callers before callees.

    Iterative, because calls can be nested deeper than Python's stack.
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
            for instruction in module.calling(name)
            for called in instruction.called
            if called not in state
        ]
    order.reverse()
    return order


def calls(module: HloModule, instruction: Instruction) -> list[tuple[str, float, bool]]:
    """(computation, runs per run of the instruction, unknown) of everything that it calls."""
    if instruction.opcode == "while":
        count = trip_count(module, instruction)
        attributes = instruction.attributes
        body = attributes.get("body", "").removeprefix("%")
        condition = attributes.get("condition", "").removeprefix("%")
        unknown = count is None
        factor = 1.0 if count is None else float(count)
        return [(body, factor, unknown), (condition, factor + (not unknown), unknown)]
    unknown = instruction.opcode == "conditional"
    return [(called, 1.0, unknown) for called in instruction.called]
