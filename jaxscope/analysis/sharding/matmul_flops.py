"""FLOPs of the matrix products of a program, over all devices and per device.

Matrix products alone are compared: XLA may fold, merge or replicate elementwise work, but the
products that the code asks for stay. Their total is read from the unoptimized HLO, before the
partitioner, where shapes are those of whole values. Inside `shard_map` shapes are those of one
device, and the work counts once for each device of the mesh.
"""

import math
import re

from jaxscope.analysis.cost import ProgramCost, program_cost
from jaxscope.analysis.hlo import HloModule, callers_first
from jaxscope.model import MatmulFlops, Unavailable

_PRODUCTS = ("dot", "convolution")
_LIBRARY = re.compile(r"matmul|gemm|conv", re.IGNORECASE)
_MANUAL = "GlobalToLocalShape"
# GSPMD's marks of a manual region, which it keeps in the middle of the computation.
_INLINE = frozenset({"SPMDFullToShardShape", "SPMDShardToFullShape"})
_AXES = re.compile(r"manual_axes\{([^}]*)\}")
_NAME = re.compile(r'\\?"([^"\\]+)\\?"')


def matmul_flops(
    before: HloModule, after: HloModule, cost: ProgramCost, sizes: dict[str, int], devices: int
) -> MatmulFlops | Unavailable:
    """The FLOPs of the products of the program as written, and those of one device.

    `before` and `after` XLA's optimization; `cost` is that of `after`, `sizes` those of the mesh
    axes.
    """
    if any((i.custom_call_target or "") in _INLINE for i in before.instructions()):
        return Unavailable("the older partitioner mixes shapes of whole values and of shards")
    total = _flops(before, program_cost(before), _executions(before, sizes, devices))
    if not total:
        return Unavailable("the program has no matrix products")
    per_device = _flops(after, cost, {})
    if not per_device:
        return Unavailable("XLA replaced the matrix products")
    return MatmulFlops(total, per_device)


def _flops(module: HloModule, cost: ProgramCost, executions: dict[str, int]) -> float:
    total = 0.0
    for row in (*cost.by_instruction, *cost.fused):
        instruction = module.instruction(row.name)
        if instruction is None or not row.flops:
            continue
        target = instruction.custom_call_target
        if instruction.opcode in _PRODUCTS or (target is not None and _LIBRARY.search(target)):
            total += row.flops * row.times * executions.get(instruction.computation, 1)
    return total


def _executions(module: HloModule, sizes: dict[str, int], devices: int) -> dict[str, int]:
    """Computation → number of devices that each execute it on shapes of their own; else 1."""
    manual: dict[str, int] = {}
    for instruction in module.instructions():
        if _MANUAL not in (instruction.custom_call_target or ""):
            continue
        axes = _AXES.search(instruction.attributes_text)
        names = _NAME.findall(axes[1]) if axes is not None else []
        number = math.prod(sizes.get(name, 1) for name in names) if names else devices
        for user in module.instructions():
            if instruction.name in user.operands and user.called:
                manual.update(dict.fromkeys(user.called, number))
    for computation in module.computations:
        # shard_map without inputs passes through no such call.
        if "manual_computation_body" in computation.name:
            manual.setdefault(computation.name, devices)
    found: dict[str, int] = {}
    for computation in callers_first(module):
        own = max(found.get(computation.name, 1), manual.get(computation.name, 1))
        found[computation.name] = own
        for instruction in computation.instructions:
            for called in instruction.called:
                found[called] = max(own, found.get(called, 1))
    return found
