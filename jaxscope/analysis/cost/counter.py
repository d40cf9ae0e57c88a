"""Counts the cost of instructions and computations, each computation once."""

from dataclasses import replace

from jaxscope.analysis.cost.arithmetic import (
    ELEMENTWISE,
    TRANSCENDENTAL,
    CostCounts,
    cholesky_flops,
    convolution_flops,
    dot_flops,
    fft_flops,
    fft_flops_of_xla,
    reduce_window_applications,
    sort_flops,
    triangular_solve_flops,
    window_sizes,
)
from jaxscope.analysis.cost.custom_calls import estimate_custom_call
from jaxscope.analysis.cost.traffic import FusionTraffic, Rules, instruction_bytes
from jaxscope.analysis.hlo import Computation, HloModule, Instruction, Shape

# Run other computations and do nothing themselves.
CONTAINERS = frozenset({"while", "conditional", "call", "async-start", "call-start"})

# These apply a computation to elements.
_APPLYING = frozenset({
    "map", "reduce", "reduce-window", "scatter", "select-and-scatter",
})  # fmt: skip

# Native operations that end in -start; any other such name is an asynchronous wrapper.
_NATIVE_STARTS = frozenset({
    "all-gather-start", "all-reduce-start", "collective-permute-start", "copy-start",
})  # fmt: skip


def xla_cost(
    module: HloModule, *, pointer_bytes: int = 8, tuple_results_as_arrays: bool = True
) -> CostCounts:
    """The sums of `compiled.cost_analysis()`: loop bodies once, a custom call as -1.

    The rules are those of jaxlib 0.10. Others differ only in tuples: jaxlib 0.8 counts them as
    index tables (`tuple_results_as_arrays=False`), jaxlib 0.12 has `pointer_bytes=4` in one.
    """
    rules = Rules(
        as_xla=True, pointer_bytes=pointer_bytes, tuple_results_as_arrays=tuple_results_as_arrays
    )
    counter = CostCounter(module, rules)
    # The text lists callees first, so no recursion is deeper than one step.
    for computation in module.computations:
        counter.of_computation(computation)
    return counter.of_computation(module.entry_computation)


class CostCounter:
    """Applies the rules to one module and caches each computation's counts."""

    def __init__(self, module: HloModule, rules: Rules) -> None:
        self._module = module
        self._rules = rules
        self._as_xla = rules.as_xla
        self._traffic = FusionTraffic(module, rules)
        self._computations: dict[str, CostCounts] = {}

    def of_computation(self, computation: Computation) -> CostCounts:
        """The sum over its instructions, each run once."""
        known = self._computations.get(computation.name)
        if known is None:
            known = sum(map(self.of_instruction, computation.instructions), CostCounts())
            self._computations[computation.name] = known
        return known

    def of_instruction(self, instruction: Instruction) -> CostCounts:
        """The cost of one run with everything it calls; zero for an opaque custom call."""
        if instruction.opcode == "fusion":
            return self._fusion(instruction)
        if instruction.opcode in CONTAINERS:
            return self._container(instruction)
        if instruction.opcode == "custom-call":
            if self._as_xla:
                return CostCounts(-1, 0, -1)
            estimate = estimate_custom_call(instruction, self.operands(instruction))
            return estimate.cost if estimate else CostCounts()
        if instruction.opcode.endswith("-start") and instruction.opcode not in _NATIVE_STARTS:
            return self.of_instruction(_unwrapped(instruction))
        operands = self.operands(instruction)
        moved = instruction_bytes(instruction, operands, self._rules)
        if instruction.opcode in _APPLYING:
            applied = self._applied(instruction, operands)
            return CostCounts(applied.flops, applied.transcendentals, moved)
        work = self._work(instruction, operands)
        return CostCounts(work.flops, work.transcendentals, moved)

    def operands(self, instruction: Instruction) -> list[Shape]:
        """The shapes of its operands."""
        sources = map(self._module.instruction, instruction.operands)
        return [source.shape for source in sources if source is not None]

    def called(self, instruction: Instruction) -> list[Computation]:
        """The computations that it calls."""
        found = map(self._module.computation, instruction.called)
        return [computation for computation in found if computation is not None]

    def _fusion(self, fusion: Instruction) -> CostCounts:
        total = CostCounts()
        for fused in self.called(fusion):
            gathers = [i for i in fused.instructions if i.opcode in ("gather", "scatter")]
            if self._as_xla and gathers and fusion.fusion_kind == "kCustom":
                return self.of_instruction(gathers[0])
            inside = self.of_computation(fused)
            moved = self._traffic.bytes_accessed(fused)
            total += CostCounts(inside.flops, inside.transcendentals, moved)
        return total

    def _container(self, instruction: Instruction) -> CostCounts:
        costs = [self.of_computation(computation) for computation in self.called(instruction)]
        if instruction.opcode != "conditional":
            return sum(costs, CostCounts())
        most = CostCounts()
        for cost in costs:
            most = most.most(cost)
        return most

    def _applied(self, instruction: Instruction, operands: list[Shape]) -> CostCounts:
        """The applied computation, times its number of applications."""
        costs = [self.of_computation(computation) for computation in self.called(instruction)]
        if not costs:
            return CostCounts()
        output = instruction.shape.parts[0] if instruction.shape.parts else instruction.shape
        if instruction.opcode == "map":
            return costs[0] * output.elements
        if instruction.opcode == "reduce":
            return costs[0] * (operands[0].elements - output.elements)
        if instruction.opcode == "reduce-window":
            return costs[0] * reduce_window_applications(instruction, output)
        if instruction.opcode == "scatter":
            return costs[0] * operands[len(operands) // 2 + 1].elements
        # select-and-scatter: one select less than the window has elements, then one scatter.
        sources = operands[1].elements
        selects = 1
        for size in window_sizes(instruction):
            selects *= size
        return costs[0] * (sources * (selects - 1)) + costs[-1] * sources

    def _work(self, instruction: Instruction, operands: list[Shape]) -> CostCounts:
        opcode = instruction.opcode
        if opcode in TRANSCENDENTAL:
            return CostCounts(transcendentals=instruction.shape.elements)
        if opcode in ELEMENTWISE:
            return CostCounts(instruction.shape.elements)
        if opcode in ("dot", "ragged-dot"):
            return CostCounts(dot_flops(instruction, operands))
        if opcode == "convolution":
            return CostCounts(convolution_flops(instruction, operands, instruction.shape))
        if opcode == "fft":
            count = fft_flops_of_xla if self._as_xla else fft_flops
            return CostCounts(count(instruction, operands))
        if opcode == "sort":
            return CostCounts(sort_flops(operands))
        if opcode == "cholesky":
            return CostCounts(cholesky_flops(operands))
        if opcode == "triangular-solve":
            return CostCounts(triangular_solve_flops(operands))
        if opcode in ("rng", "rng-bit-generator"):
            return CostCounts(transcendentals=instruction.shape.elements)
        if opcode in ("all-reduce", "all-reduce-start"):
            # HandleAllReduce assumes two replicas: one addition per element.
            return CostCounts(instruction.shape.elements)
        return CostCounts()


def _unwrapped(start: Instruction) -> Instruction:
    """The operation inside `op-start`, whose shape is (operands, result, context)."""
    parts = start.shape.parts
    shape = parts[1] if len(parts) > 1 else start.shape
    return replace(start, opcode=start.opcode.removesuffix("-start"), shape=shape)
