"""The collectives of a compiled program: what each device puts in, gets out, and sends.

What is sent is counted for the ring algorithm, for n devices in a set and S bytes in the whole:

    all-reduce           2 (n-1)/n · S    S is the operand: a reduce-scatter, then an all-gather
    all-gather             (n-1)/n · S    S is the result, n operands
    reduce-scatter         (n-1)/n · S    S is the operand
    all-to-all             (n-1)/n · S    S is the operand; 1/n of it stays
    collective-permute               S    by each device that sends to another
    collective-broadcast             S    handed on from one to the next

These are lower bounds that the usual libraries reach for large arrays (Patarasuk and Yuan 2009,
"Bandwidth optimal all-reduce algorithms"; the table of NVIDIA's nccl-tests, PERFORMANCE.md).
Simulated devices share one memory and send nothing over a wire.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from jaxscope.analysis.hlo import HloModule, Instruction, executed_times
from jaxscope.analysis.sharding.replica_groups import (
    GroupTextError,
    Members,
    read_groups,
    read_pairs,
)
from jaxscope.model import CollectiveKind

_KINDS = {str(kind): kind for kind in CollectiveKind}
_PAIRS = CollectiveKind.COLLECTIVE_PERMUTE


@dataclass(frozen=True, slots=True)
class Found:
    """A collective as the text has it; devices by their place in the program's own list."""

    kind: CollectiveKind
    instruction: Instruction
    members: Members
    """Sets that talk to each other, or the (from, to) of a permutation; empty if unreadable."""
    operand_bytes: int
    result_bytes: int
    wire_bytes: float
    """NaN where the sets are not known."""
    times: float
    times_known: bool
    combines: str
    shapes: tuple[str, ...]
    asynchronous: bool


def find(module: HloModule, devices: int) -> Iterator[Found]:
    """Every collective that the program runs, in the order of the text; of a pair, its start."""
    executions = executed_times(module)
    # A collective inside a generic asynchronous call runs as often as the call is started.
    starts = {
        name: instruction
        for instruction in module.instructions()
        if instruction.opcode == "async-start"
        for name in instruction.called
    }
    for instruction in module.instructions():
        opcode = instruction.opcode
        kind = _KINDS.get(opcode.removesuffix("-start"))
        if kind is None:
            continue
        start = starts.get(instruction.computation)
        runs = executions[(start or instruction).computation]
        if runs.times:
            asynchronous = start is not None or opcode.endswith("-start")
            yield _found(module, instruction, kind, devices, runs.times, runs.known, asynchronous)


def _found(
    module: HloModule,
    instruction: Instruction,
    kind: CollectiveKind,
    devices: int,
    times: float,
    known: bool,
    asynchronous: bool,
) -> Found:
    attributes = instruction.attributes
    try:
        members = read_pairs(attributes) if kind is _PAIRS else read_groups(attributes, devices)
    except GroupTextError:
        members = ()
    size = max((len(group) for group in members), default=0)
    operands = [
        source.shape
        for name in instruction.operands
        if (source := module.instruction(name)) is not None
    ]
    given = sum(shape.bytes for shape in operands)
    # The shape of a start holds operands, results and context; the plain one is the result.
    if instruction.opcode.endswith("-start"):
        result = _result(kind, given, size)
    else:
        result = instruction.shape.bytes
    sent = wire_bytes(kind, size, given, result) if members else math.nan
    if kind is _PAIRS:
        sent = float(given if any(source != target for source, target in members) else 0)
    return Found(
        kind,
        instruction,
        members,
        given,
        result,
        sent,
        times,
        known,
        _combines(module, instruction),
        tuple(f"{s.dtype}[{','.join(map(str, s.dims))}]" for s in operands),
        asynchronous,
    )


def wire_bytes(kind: CollectiveKind, size: int, operand: float, result: float) -> float:
    """Bytes that each device of a set of that size sends; see above."""
    if size < 2:
        return 0.0
    share = (size - 1) / size
    match kind:
        case CollectiveKind.ALL_REDUCE:
            return 2 * share * operand
        case CollectiveKind.ALL_GATHER:
            return share * result
        case CollectiveKind.COLLECTIVE_PERMUTE | CollectiveKind.COLLECTIVE_BROADCAST:
            return operand
        case _:
            return share * operand


def _result(kind: CollectiveKind, operand: int, size: int) -> int:
    if kind is CollectiveKind.ALL_GATHER:
        return operand * size
    if kind is CollectiveKind.REDUCE_SCATTER:
        return operand // max(size, 1)
    return operand


def _combines(module: HloModule, instruction: Instruction) -> str:
    """The operation that combines values: the root of the computation that is applied."""
    for name in instruction.called:
        computation = module.computation(name)
        if computation is not None:
            return computation.root.opcode
    return ""
