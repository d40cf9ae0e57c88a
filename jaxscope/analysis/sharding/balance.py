"""How the matrix products of a program are shared out over its devices.

Products alone are compared: XLA may fold, merge or repeat elementwise work as it likes, but the
products that the code asks for stay. What the code asks for is read from the HLO before XLA
partitions it, where shapes are those of whole values, except inside `shard_map`: there each device
works on shapes of its own, and the work counts once for each device of the mesh.
"""

from __future__ import annotations

import math
import re

from jaxscope.analysis.cost import ProgramCost, program_cost
from jaxscope.analysis.hlo import HloModule, callers_first
from jaxscope.model import Balance, Unavailable

_PRODUCTS = ("dot", "convolution")
_LIBRARY = re.compile(r"matmul|gemm|conv", re.IGNORECASE)
_MANUAL = "GlobalToLocalShape"
# GSPMD's marks of a manual region, which it keeps in the middle of the computation.
_INLINE = frozenset({"SPMDFullToShardShape", "SPMDShardToFullShape"})
_AXES = re.compile(r"manual_axes\{([^}]*)\}")
_NAME = re.compile(r'\\?"([^"\\]+)\\?"')


def balance(
    before: HloModule, after: HloModule, cost: ProgramCost, sizes: dict[str, int], devices: int
) -> Balance | Unavailable:
    """The products of the program as written, and those that one device does.

    `before` and `after` XLA's optimization; `cost` is that of `after`.
    """
    if any((i.custom_call_target or "") in _INLINE for i in before.instructions()):
        return Unavailable("the older partitioner mixes shapes of the whole and of the parts")
    whole = _products(before, program_cost(before), _factors(before, sizes, devices))
    if not whole:
        return Unavailable("the program has no matrix products")
    each = _products(after, cost, {})
    if not each:
        return Unavailable("XLA made something else of the matrix products")
    return Balance(whole, each)


def _products(module: HloModule, cost: ProgramCost, factors: dict[str, int]) -> float:
    total = 0.0
    for row in (*cost.by_instruction, *cost.fused):
        instruction = module.instruction(row.name)
        if instruction is None or not row.flops:
            continue
        target = instruction.custom_call_target
        if instruction.opcode in _PRODUCTS or (target is not None and _LIBRARY.search(target)):
            total += row.flops * row.times * factors.get(instruction.computation, 1)
    return total


def _factors(module: HloModule, sizes: dict[str, int], devices: int) -> dict[str, int]:
    """Computation → how many devices run it each for itself; 1 where shapes are whole."""
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
    factors: dict[str, int] = {}
    for computation in callers_first(module):
        own = factors.get(computation.name, 1)
        factor = max(own, manual.get(computation.name, 1))
        factors[computation.name] = factor
        for instruction in computation.instructions:
            for called in instruction.called:
                factors[called] = max(factor, factors.get(called, 1))
    return factors
