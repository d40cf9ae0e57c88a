"""The origin of a collective: explicit, a sharding constraint, or inserted by the partitioner."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from jaxscope.analysis.hlo import HloModule, Instruction
from jaxscope.analysis.sharding.value_flow import HloDataflow, HloUse
from jaxscope.model import (
    Anchor,
    Collective,
    CollectiveKind,
    CollectiveOrigin,
    Equation,
    ReshardingReason,
)

_EXPLICIT = frozenset({
    "all_gather", "all_gather_invariant", "all_gather_reduced", "all_to_all", "pbroadcast",
    "pgather", "pmax", "pmin", "ppermute", "preduced", "psend", "precv", "pshuffle", "psum",
    "psum2", "psum_invariant", "psum_scatter", "ragged_all_to_all", "reduce_scatter",
    "pbroadcast_dynamic", "unreduced_pmax", "unreduced_pmin", "unreduced_psum",
    "unreduced_reduce_scatter",
})  # fmt: skip
"""The collective primitives of jax.lax, 0.8 to 0.12."""

_CONSTRAINTS = frozenset({"reshard", "sharding_constraint", "device_put", "mesh_cast"})
_MANUAL = frozenset({"shard_map", "xla_pmap"})
_PRODUCTS = frozenset({"dot_general", "conv_general_dilated", "ragged_dot_general", "ragged_dot"})
_ALONG = frozenset({
    "argmax", "argmin", "cholesky", "concatenate", "conv_general_dilated", "cumlogsumexp", "cummax",
    "cummin", "cumprod", "cumsum", "dynamic_slice", "dynamic_update_slice", "eig", "eigh", "fft",
    "gather", "lu", "lu_pivots_to_permutation", "pad", "qr", "geqrf", "householder_product",
    "reshape", "rev", "scatter", "scatter-add", "slice", "sort", "split", "svd", "top_k",
    "triangular_solve",
})  # fmt: skip
"""An element of the result depends on elements along whole dimensions."""

_ELEMENTWISE = frozenset({
    "add", "add_any", "and", "atan2", "div", "eq", "ge", "gt", "le", "lt", "max", "min", "mul",
    "ne", "or", "pow", "rem", "select_n", "sub", "xor",
})  # fmt: skip
_LOWERED_ELEMENTWISE = frozenset({
    "add", "and", "atan2", "compare", "divide", "maximum", "minimum", "multiply", "or", "power",
    "remainder", "select", "subtract", "xor",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class CollectiveContext:
    """Facts about the program that its HLO text does not hold."""

    equations: tuple[Equation, ...]
    anchors: Mapping[int, Anchor]
    """By line of the text."""
    inputs: Sequence[str] = ()
    """Names of the program's parameters, in order; empty when they are not known."""
    outputs: Sequence[str] = ()
    constrained: frozenset[int] = frozenset()
    """Equations whose result the code constrains to a sharding."""
    free_outputs: bool = True
    """XLA may choose the shardings of the results."""


@dataclass
class CollectiveReader:
    """Reads the collectives of one module with their origins."""

    module: HloModule
    context: CollectiveContext
    _flow: HloDataflow = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._flow = HloDataflow(self.module)

    def collective(self, instruction: Instruction, made: Collective) -> Collective:
        """The collective with its origin; for resharding also the reason and the consumer."""
        equation, exact = self._equation(instruction)
        primitive = self._primitive(instruction)
        if not primitive:
            # Newer XLA names the move of an argument after the argument: its users tell more.
            equation, exact = None, True
        made = replace(made, primitive=primitive, equation=equation, exact=exact)
        if primitive in _EXPLICIT:
            return made
        if primitive in _CONSTRAINTS:
            return _constrained(made, primitive)
        reduces = made.kind in (CollectiveKind.ALL_REDUCE, CollectiveKind.REDUCE_SCATTER)
        if reduces and primitive not in _ALONG:
            return replace(made, origin=CollectiveOrigin.PARTIAL_SUM)
        if equation is not None and equation in self.context.constrained:
            return _constrained(made, "sharding_constraint")
        return self._resharding(instruction, made)

    def _resharding(self, instruction: Instruction, made: Collective) -> Collective:
        names = self._names(instruction.operands)
        primitive, equation = made.primitive, made.equation
        made = replace(
            made,
            origin=CollectiveOrigin.RESHARDING,
            value=names[0] if len(names) == 1 else "",
            reason=ReshardingReason.UNKNOWN,
            computed=all(map(self._flow.is_computed, instruction.operands)),
        )
        # XLA names what it inserts after the operation that needs it, or after what it moves.
        if primitive in _MANUAL:
            return replace(made, reason=ReshardingReason.MANUAL)
        own = replace(made, consumer=primitive, consumer_equation=equation)
        uses, results = self._flow.uses(instruction)
        # A product that takes the value is the reason, not the product before.
        taken = any(self._primitive(use.instruction) in _PRODUCTS for use in uses[:1])
        if primitive in _PRODUCTS and not taken:
            return replace(own, reason=ReshardingReason.PRODUCT)
        if primitive in _ALONG:
            return replace(own, reason=ReshardingReason.DIMENSION)
        for user in self._flow.users(instruction):
            # Lowered, a reshape or a slice only moves data; as JAX's operation it is the reason.
            if self._primitive(user) in _ALONG:
                return replace(self._consumed(made, user), reason=ReshardingReason.DIMENSION)
        if not uses:
            return self._as_result(made, results)
        use = uses[0]
        constrained = self._equation(use.instruction)[0] in self.context.constrained
        if self._primitive(use.instruction) in _CONSTRAINTS or constrained:
            return _constrained(made, "sharding_constraint")
        made = self._consumed(made, use.instruction)
        if made.consumer in _EXPLICIT or made.consumer in _MANUAL:
            return replace(made, reason=ReshardingReason.MANUAL)
        if made.consumer in _PRODUCTS or use.instruction.opcode == "dot":
            return replace(made, reason=ReshardingReason.PRODUCT)
        if made.consumer in _ALONG:
            return replace(made, reason=ReshardingReason.DIMENSION)
        others = self._others(use)
        if made.value and others and primitive in {"", made.consumer}:
            named = tuple(name for name in self._names(others) if name != made.value)
            return replace(made, reason=ReshardingReason.OPERANDS, other_operands=named)
        # Only `out_shardings` can still be the reason.
        return made if self.context.free_outputs else _constrained(made, "out_shardings")

    def _consumed(self, made: Collective, consumer: Instruction) -> Collective:
        """The collective with the operation that needs the value."""
        equation, exact = self._equation(consumer)
        made = replace(made, consumer=self._primitive(consumer), consumer_equation=equation)
        return made if made.equation is not None else replace(made, equation=equation, exact=exact)

    def _as_result(self, made: Collective, results: Sequence[int]) -> Collective:
        """A value that becomes a result of the program."""
        if not results:
            return made
        if not self.context.free_outputs:
            return _constrained(made, "out_shardings")
        outputs = self.context.outputs
        name = outputs[results[0]] if results[0] < len(outputs) else ""
        return replace(made, reason=ReshardingReason.RESULT, value=made.value or name)

    def _others(self, use: HloUse) -> list[str]:
        """The other arrays that an elementwise operation combines a value with."""
        instruction = use.instruction
        primitive = self._primitive(instruction)
        if primitive not in _ELEMENTWISE and instruction.opcode not in _LOWERED_ELEMENTWISE:
            return []
        return [
            name
            for name in instruction.operands
            if name != use.operand and not self._flow.is_uniform(name)
        ]

    def _names(self, values: Sequence[str]) -> tuple[str, ...]:
        """The inputs that the values are copies of, through data movement alone."""
        inputs = self.context.inputs
        found = (self._flow.parameters(value) for value in values)
        numbers = dict.fromkeys(number for group in found for number in group)
        return tuple([inputs[number] for number in numbers if number < len(inputs)])

    def _equation(self, instruction: Instruction) -> tuple[int | None, bool]:
        anchor = self.context.anchors.get(instruction.line)
        if anchor is None or not anchor.equations:
            return None, True
        if anchor.exact or len(anchor.equations) == 1:
            return anchor.equations[0], anchor.exact
        frames = [self.context.equations[i].frames[:1] for i in anchor.equations]
        lines = {tuple([(f.source, f.span.line) for f in innermost]) for innermost in frames}
        return (anchor.equations[0], False) if len(lines) == 1 else (None, False)

    def _primitive(self, instruction: Instruction) -> str:
        """JAX's operation: that of the tagged equation, else the last word of the name."""
        anchor = self.context.anchors.get(instruction.line)
        if anchor is not None and anchor.exact and anchor.equations:
            return self.context.equations[anchor.equations[0]].primitive
        head, slash, last = instruction.op_name.rpartition("/")
        # A single word is the name of an argument. Collectives that XLA has combined into one are
        # called `(psum:psum)`.
        return last.strip("()").partition(":")[0] if slash and head else ""


def _constrained(made: Collective, primitive: str) -> Collective:
    origin = CollectiveOrigin.SHARDING_CONSTRAINT
    return replace(made, origin=origin, primitive=primitive, reason=None)
