"""The flow of data between the equations of the program that XLA gets, before its passes.

Where every equation is of a common primitive, the jaxpr tells it: writing the program as HLO text
takes as long as all other links. Else that text does.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from jaxscope.analysis.cost.arithmetic import real_operations
from jaxscope.analysis.cost.counter import CostCounter
from jaxscope.analysis.hlo import HloModule, parse_shape
from jaxscope.analysis.jaxpr.dataflow import Region, RegionStep, distinct_regions
from jaxscope.analysis.jaxpr.flow import Flow
from jaxscope.analysis.links.dataflow import DISSOLVED, Dataflow, Edges, input, is_border, output
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
    imag one_minus_square rem reshape rev round rsqrt select_n sign sin slice split sqrt square
    squeeze stop_gradient sub tan tanh transpose xor zeros_like
    """.split()  # noqa: SIM905
)
"""Primitives that are lowered to instructions of which none is costly."""


@dataclass(frozen=True)
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
    read_products: Callable[[], Mapping[float, tuple[int, ...]]]
    sides: tuple[int, int] | None = None
    """The numbers of its parameters and results; None where it was read of the text."""

    @functools.cached_property
    def products(self) -> Mapping[float, tuple[int, ...]]:
        """FLOPs → the equations of all products with so many; empty where a product has no tag."""
        return self.read_products()

    @functools.cached_property
    def from_inputs(self) -> Sequence[str]:
        """All nodes and the borders of the program, each after those that feed it."""
        borders = [node for node in (*self.feeds, *self.reads) if is_border(node)]
        inputs = [node for node in borders if node not in self.feeds]
        outputs = [node for node in borders if node in self.feeds]
        return (*inputs, *self.order, *outputs)

    @functools.cached_property
    def nodes(self) -> Mapping[int, list[str]]:
        """By equation."""
        found: dict[int, list[str]] = {}
        for node, equations in self.equations.items():
            for equation in equations:
                found.setdefault(equation, []).append(node)
        return found

    @functools.cached_property
    def made(self) -> Mapping[int, frozenset[str]]:
        """The opcodes of each equation."""
        return {
            equation: frozenset(opcode for node in nodes for opcode in self.opcodes[node])
            for equation, nodes in self.nodes.items()
        }

    def is_of(self, compiled: HloModule) -> bool:
        """Whether that program may have been compiled from it."""
        entry = compiled.entry_computation
        parameters = sum(one.opcode == "parameter" for one in entry.instructions)
        results = len(entry.root.operands) if entry.root.opcode == "tuple" else 1
        return self.sides in (None, (parameters, results))


@dataclass(frozen=True, slots=True)
class ProgramInput:
    """Two ways to the program that XLA gets."""

    text: Callable[[], HloModule | None] = lambda: None
    """Its HLO, with tags."""
    flow: Callable[[HloModule], InputFlow | None] = lambda compiled: None
    """Its flow by the jaxpr; None where that does not tell it, or not of this compiled program."""


def flow_of_module(module: HloModule, tagged: Mapping[str, tuple[int, ...]]) -> InputFlow:
    """The flow of a module without calls; `tagged` are the equations of its instructions."""
    feeds, reads = Dataflow(module, lambda instruction: instruction.name in tagged).edges()
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
    return InputFlow(own, opcodes, order, feeds, reads, products)


def flow_of_jaxpr(flow: Flow, paths: TagPaths, taken: Collection[int]) -> InputFlow | None:
    """The flow of a program by its jaxpr; None where that does not tell what XLA gets.

    `taken` are the arguments that the program takes.
    """
    region = flow.region
    if not _is_known(region):
        return None
    given: list[str | None] = [None] * region.arguments
    for number, argument in enumerate(sorted(taken)):
        given[argument] = input(number)
    found = _flow_of_steps(flow, given, paths)
    return found and replace(found, sides=(len(taken), len(region.results)))


def _is_known(region: Region) -> bool:
    """Whether the jaxpr says what XLA gets: constants may be arguments, and other primitives are
    lowered in other ways."""
    known = _CALLS.union(_OTHERS, _COSTLY)
    return not any(
        each.constants or any(step.primitive not in known for step in each.steps)
        for each in distinct_regions(region)
    )


def _flow_of_steps(flow: Flow, given: Sequence[str | None], paths: TagPaths) -> InputFlow | None:
    nodes = dict(zip(flow.arguments, given, strict=True))
    nodes |= {value: str(step.equation) for value, step in flow.makers.items()}

    def known(values: Iterable[int]) -> list[str]:
        return list(dict.fromkeys(filter(None, map(nodes.get, values))))

    steps = {str(step.equation): step for step in flow.steps}
    if any(step.primitive in _CALLS for step in steps.values()):
        return None
    # JAX does not lower what no result depends on.
    feeds: dict[str, list[str]] = {}
    waiting = known(flow.outputs)
    while waiting:
        node = waiting.pop()
        if node not in feeds and node in steps:
            feeds[node] = known(steps[node].inputs)
            waiting += feeds[node]
    same: dict[int, tuple[int, ...]] = {}
    for _, equations in sorted(paths.items(), key=lambda item: len(item[0])):
        same |= dict.fromkeys(equations, equations)
    live = {node: step for node, step in steps.items() if node in feeds}
    own = {node: same[step.equation] for node, step in live.items() if step.equation in same}
    feeds |= {output(k): known([value]) for k, value in enumerate(flow.outputs)}
    reads: dict[str, list[str]] = {}
    for node, sources in feeds.items():
        for source in sources:
            reads.setdefault(source, []).append(node)

    def products() -> Mapping[float, tuple[int, ...]]:
        found: list[tuple[float, tuple[int, ...]]] = []
        for node, step in live.items():
            if step.primitive == "dot_general":
                if node not in own:
                    return {}
                operand = parse_shape(flow.values[step.inputs[0]].aval)
                work = step.step.flops * real_operations("dot", [operand])
                found.append((work, own[node]))
        return _by_work(found)

    opcodes = {node: _costly(live[node].step) for node in own}
    return InputFlow(own, opcodes, [*live], feeds, reads, products)


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
