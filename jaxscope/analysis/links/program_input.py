"""The flow of data between the equations of the program that XLA gets, before its passes.

Where every equation is of a common primitive, the jaxpr tells it: writing the program as HLO text
takes as long as all other links. Else that text does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from jaxscope.analysis.cost.arithmetic import real_operations
from jaxscope.analysis.cost.counter import CostCounter
from jaxscope.analysis.hlo import HloModule, parse_shape
from jaxscope.analysis.jaxpr.dataflow import Region, RegionStep
from jaxscope.analysis.links.dataflow import DISSOLVED, Dataflow, Edges, input, output
from jaxscope.analysis.links.tags import TagPaths

PRODUCTS = frozenset({"dot", "convolution"})
"""XLA may give such an instruction the tag of the transpose that it merged into it."""

_CALLS = frozenset({"jit", "pjit", "closed_call", "core_call", "custom_jvp_call"})
"""Primitives that are lowered as what they call."""

_COSTLY = {
    "dot_general": "dot",
    "sort": "sort",
    "gather": "gather",
    **dict.fromkeys(
        ("scatter", "scatter-add", "scatter_add", "scatter-mul", "scatter_mul"), "scatter"
    ),
    **dict.fromkeys(
        (
            "reduce_sum", "reduce_max", "reduce_min", "reduce_prod", "reduce_and", "reduce_or",
            "argmax", "argmin",
        ),
        "reduce",
    ),
}  # fmt: skip
"""Primitives that are lowered to one costly instruction."""

_OTHERS = frozenset(
    """
    abs add add_any and atan2 broadcast_in_dim ceil clamp concatenate convert_element_type copy
    copy_p cos div dynamic_slice dynamic_update_slice eq erf exp exp2 expand_dims expm1 floor ge gt
    integer_pow iota is_finite le log log1p logistic lt max min mul name ne neg not or pad pow real
    imag rem reshape rev round rsqrt select_n sign sin slice split sqrt square squeeze stop_gradient
    sub tan tanh transpose xor zeros_like
    """.split()  # noqa: SIM905
)
"""Primitives that are lowered to instructions of which none is costly."""


@dataclass(frozen=True, slots=True)
class InputFlow:
    """The tagged instructions before XLA's passes, or the equations that stand for them."""

    equations: Mapping[str, tuple[int, ...]]
    """By node; nodes without a tag are missing."""
    opcodes: Mapping[str, tuple[str, ...]]
    """By the same nodes; of an equation, the costly ones."""
    order: Sequence[str]
    """All nodes, each after those that feed it."""
    feeds: Edges
    reads: Edges
    products: Callable[[], Mapping[float, tuple[int, ...]]]
    """FLOPs → the equations of all products with so many; empty where a product has no tag."""


@dataclass(frozen=True, slots=True)
class ProgramInput:
    """Two ways to the program that XLA gets."""

    text: Callable[[], HloModule | None] = lambda: None
    """Its HLO, with tags."""
    flow: Callable[[HloModule], InputFlow | None] = lambda compiled: None
    """Its flow by the jaxpr; None where that does not tell it, or not of this compiled program."""


def flow_of_module(module: HloModule, tagged: Mapping[str, tuple[int, ...]]) -> InputFlow:
    """The flow of a module without calls; `tagged` are the equations of its instructions."""
    flow = Dataflow(module, lambda instruction: instruction.name in tagged)
    # Of a call, what it runs has tags of its own.
    own = {
        one.name: tagged[one.name]
        for one in module.instructions()
        if one.opcode not in DISSOLVED and one.name in tagged
    }

    def products() -> Mapping[float, tuple[int, ...]]:
        counter, found = CostCounter(module), list[tuple[float, tuple[int, ...]]]()
        for one in module.instructions():
            if one.opcode in PRODUCTS:
                if not tagged.get(one.name):
                    return {}
                found.append((counter.of_instruction(one).flops, tagged[one.name]))
        return _by_work(found)

    opcodes = {one.name: (one.opcode,) for one in module.instructions() if one.name in own}
    order = [instruction.name for instruction in module.instructions()]
    return InputFlow(own, opcodes, order, flow.feeds, flow.reads, products)


def flow_of_region(
    region: Region, paths: TagPaths, taken: Collection[int], compiled: HloModule
) -> InputFlow | None:
    """The flow of a program by its jaxpr; None where that does not tell what XLA gets.

    `taken` are the arguments that the program takes.
    """
    entry = compiled.entry_computation
    parameters = sum(one.opcode == "parameter" for one in entry.instructions)
    results = len(entry.root.operands) if entry.root.opcode == "tuple" else 1
    if (len(taken), len(region.results)) != (parameters, results):
        return None
    given: list[str | None] = [None] * region.arguments
    for number, argument in enumerate(sorted(taken)):
        given[argument] = input(number)
    made = _Flow()
    try:
        return made.flow(made.enter(region, 0, given), paths)
    except LookupError:
        return None


@dataclass(slots=True)
class _Flow:
    """The equations of all regions as one flow, calls dissolved."""

    _steps: dict[int, RegionStep] = field(default_factory=dict[int, RegionStep])
    _feeds: dict[int, list[str]] = field(default_factory=dict[int, list[str]])
    _work: dict[int, float] = field(default_factory=dict[int, float])

    def enter(self, region: Region, first: int, given: Sequence[str | None]) -> list[str | None]:
        """Add the equations of a region; the nodes of its results, None for a constant.

        Raises LookupError for a primitive that is lowered in other ways.
        """
        if region.constants:
            raise LookupError("constants may be arguments")
        nodes: dict[int, str | None] = dict(enumerate(given))
        for step in region.steps:
            number = first + step.offset
            sources = [nodes.get(value) for value in step.inputs]
            if step.primitive in _CALLS and len(step.inner) == 1:
                inner = step.inner[0]
                if len(sources) != inner.region.arguments:
                    raise LookupError(step.primitive)
                made = self.enter(inner.region, first + inner.offset, sources)
            elif step.primitive in _OTHERS or step.primitive in _COSTLY:
                self._steps[number] = step
                self._feeds[number] = list(dict.fromkeys(filter(None, sources)))
                if step.primitive == "dot_general":
                    operand = parse_shape(region.values[step.inputs[0]].aval)
                    self._work[number] = step.flops * real_operations("dot", [operand])
                made = [str(number)] * len(step.outputs)
            else:
                raise LookupError(step.primitive)
            nodes.update(zip(step.outputs, made, strict=True))
            nodes.pop(-1, None)
        return [nodes.get(value) for value in region.results]

    def flow(self, results: Sequence[str | None], paths: TagPaths) -> InputFlow:
        """The flow without what no result depends on, which JAX does not lower."""
        feeds: dict[str, list[str]] = {}
        waiting = [node for node in results if node is not None]
        while waiting:
            node = waiting.pop()
            if node not in feeds and node.isdigit():
                feeds[node] = self._feeds[int(node)]
                waiting += feeds[node]
        live = [number for number in self._steps if str(number) in feeds]
        same: dict[int, tuple[int, ...]] = {}
        for _, equations in sorted(paths.items(), key=lambda item: len(item[0])):
            same |= dict.fromkeys(equations, equations)
        equations = {str(number): same[number] for number in live if number in same}
        feeds |= {output(k): [node] for k, node in enumerate(results) if node is not None}
        reads: dict[str, list[str]] = {}
        for node, sources in feeds.items():
            for source in sources:
                reads.setdefault(source, []).append(node)

        def products() -> Mapping[float, tuple[int, ...]]:
            found = [(self._work[n], same.get(n, ())) for n in live if n in self._work]
            return _by_work(found) if all(own for _, own in found) else {}

        opcodes = {node: _costly(self._steps[int(node)]) for node in equations}
        return InputFlow(equations, opcodes, [*map(str, live)], feeds, reads, products)


def _costly(step: RegionStep) -> tuple[str, ...]:
    """The costly instructions that an equation is lowered to."""
    made = _COSTLY.get(step.primitive)
    if made == "gather" and "FILL" in str(step.params.get("mode")):
        return made, "reduce"  # of all bounds
    return () if made is None else (made,)


def _by_work(found: Iterable[tuple[float, Collection[int]]]) -> dict[float, tuple[int, ...]]:
    made: dict[float, set[int]] = {}
    for work, own in found:
        made.setdefault(work, set()).update(own)
    return {work: tuple(sorted(own)) for work, own in made.items()}
