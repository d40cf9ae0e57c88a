"""The collectives of a compiled program: operand, result and sent bytes per device.

Sent bytes are those of the ring algorithm, for n devices in a group and S bytes:

    all-reduce           2 (n-1)/n · S    S is the operand: a reduce-scatter, then an all-gather
    all-gather             (n-1)/n · S    S is the result, n operands
    reduce-scatter         (n-1)/n · S    S is the operand
    all-to-all             (n-1)/n · S    S is the operand; 1/n of it stays
    collective-permute               S    by each device that sends to a different one
    collective-broadcast             S    forwarded from one device to the next

These are lower bounds that the usual libraries reach for large arrays (Patarasuk and Yuan 2009,
"Bandwidth optimal all-reduce algorithms"; the table of NVIDIA's nccl-tests, PERFORMANCE.md).
Emulated devices share one memory and send nothing over a wire.
"""

import math
from collections.abc import Iterator

from jaxscope.analysis.hlo import HloModule, Instruction, executed_times
from jaxscope.analysis.sharding.replica_groups import GroupTextError, read_groups, read_pairs
from jaxscope.model import Collective, CollectiveKind, CollectiveOrigin

_KINDS = {str(kind): kind for kind in CollectiveKind}
_PAIRS = CollectiveKind.COLLECTIVE_PERMUTE
_GATHER, _SCATTER = CollectiveKind.ALL_GATHER, CollectiveKind.REDUCE_SCATTER


Groups = tuple[tuple[int, ...], ...]
"""As in `DeviceGroups`; empty if unreadable."""


def find_collectives(
    module: HloModule, devices: int
) -> Iterator[tuple[Instruction, Collective, Groups]]:
    """Every collective that the program runs, in the order of the text; of a pair, its start.

    Its origin and the index of its groups are not known yet. Devices go by their position in the
    program's own list.
    """
    executions = executed_times(module)
    # A collective inside a generic asynchronous call runs as often as the call is started.
    starts = module.callers("async-start")
    for instruction in module.instructions():
        opcode = instruction.opcode
        kind = _KINDS.get(opcode.removesuffix("-start"))
        if kind is None:
            continue
        start = starts.get(instruction.computation)
        runs = executions[(start or instruction).computation]
        if not runs.times:
            continue
        groups = _groups(kind, instruction, devices)
        size = max((len(group) for group in groups), default=0)
        operands = [source.shape for source in module.operands(instruction)]
        given = sum(shape.bytes for shape in operands)
        result = instruction.shape.bytes
        # The shape of a start holds operands, results and context; the plain one is the result.
        if opcode.endswith("-start"):
            one = {_GATHER: given * size, _SCATTER: given // max(size, 1)}
            result = one.get(kind, given)
        sent = wire_bytes(kind, size, given, result) if groups else math.nan
        if kind is _PAIRS:
            sent = float(given if any(source != target for source, target in groups) else 0)
        made = Collective(
            kind,
            instruction.name,
            instruction.line,
            CollectiveOrigin.EXPLICIT,
            "",
            device_groups=0,
            operand_bytes=given,
            result_bytes=result,
            wire_bytes=sent,
            times=runs.times,
            times_known=runs.known,
            # The root of the computation that is applied; none where data only moves.
            reduction=next((c.root.opcode for c in module.called(instruction)), ""),
            shapes=tuple(f"{s.dtype}[{','.join(map(str, s.dims))}]" for s in operands),
            asynchronous=start is not None or opcode.endswith("-start"),
        )
        yield instruction, made, groups


def _groups(kind: CollectiveKind, instruction: Instruction, devices: int) -> Groups:
    attributes = instruction.attributes
    try:
        return read_pairs(attributes) if kind is _PAIRS else read_groups(attributes, devices)
    except GroupTextError:
        return ()


def wire_bytes(kind: CollectiveKind, size: int, operand: float, result: float) -> float:
    """Bytes that each device of a group of that size sends; see above."""
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
