"""Why a collective is in the program: written, asked for, or inserted by XLA, and for what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from jaxscope.analysis.hlo import HloModule, Instruction
from jaxscope.analysis.sharding.collectives import Found
from jaxscope.analysis.sharding.value_flow import Flow, Use
from jaxscope.model import Anchor, CollectiveKind, Equation, Need, Origin

WRITTEN = frozenset({
    "all_gather", "all_gather_invariant", "all_gather_reduced", "all_to_all", "pbroadcast",
    "pgather", "pmax", "pmin", "ppermute", "preduced", "psend", "precv", "pshuffle", "psum",
    "psum2", "psum_invariant", "psum_scatter", "ragged_all_to_all", "reduce_scatter",
    "unreduced_psum", "unreduced_reduce_scatter",
})  # fmt: skip
"""The collective primitives of jax.lax, 0.8 to 0.12."""

_ASKED = frozenset({"reshard", "sharding_constraint", "device_put", "mesh_cast"})
_MANUAL = frozenset({"shard_map", "xla_pmap"})
_PRODUCTS = frozenset({"dot_general", "conv_general_dilated", "ragged_dot_general", "ragged_dot"})
_ALONG = frozenset({
    "argmax", "argmin", "cholesky", "concatenate", "conv_general_dilated", "cumlogsumexp", "cummax",
    "cummin", "cumprod", "cumsum", "dynamic_slice", "dynamic_update_slice", "eig", "eigh", "fft",
    "gather", "lu", "lu_pivots_to_permutation", "pad", "qr", "geqrf", "householder_product",
    "reshape", "rev", "scatter", "scatter-add", "slice", "sort", "split", "svd", "top_k",
    "triangular_solve",
})  # fmt: skip
"""They work along dimensions: an element of the result needs elements far away."""

_ELEMENTWISE = frozenset({
    "add", "add_any", "and", "atan2", "div", "eq", "ge", "gt", "le", "lt", "max", "min", "mul",
    "ne", "or", "pow", "rem", "select_n", "sub", "xor",
})  # fmt: skip
_LOWERED_ELEMENTWISE = frozenset({
    "add", "and", "atan2", "compare", "divide", "maximum", "minimum", "multiply", "or", "power",
    "remainder", "select", "subtract", "xor",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Context:
    """What is known of the program besides its text."""

    equations: tuple[Equation, ...]
    anchors: Mapping[int, Anchor]
    """By line of the text."""
    inputs: Sequence[str] = ()
    """Names of the program's parameters, in order; empty when they cannot be told."""
    outputs: Sequence[str] = ()
    constrained: frozenset[int] = frozenset()
    """Equations whose result the code constrains to a sharding."""
    free_outputs: bool = True
    """XLA may choose how the results lie."""


@dataclass(frozen=True, slots=True)
class Why:
    """The reason for one collective."""

    origin: Origin
    primitive: str
    equation: int | None
    exact: bool
    value: str = ""
    need: Need | None = None
    wanted_by: str = ""
    wanted_equation: int | None = None
    beside: tuple[str, ...] = ()
    computed: bool = False


@dataclass
class Reasons:
    """Answers for the collectives of one module."""

    module: HloModule
    context: Context
    _flow: Flow = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._flow = Flow(self.module)

    def why(self, found: Found) -> Why:
        """Where a collective comes from; for what XLA inserted also what it is for."""
        instruction = found.instruction
        equation, exact = self._equation(instruction)
        primitive = self._primitive(instruction)
        if not primitive:
            # Newer XLA names what moves an argument after the argument: its users tell more.
            equation, exact = None, True
        if primitive in WRITTEN:
            return Why(Origin.WRITTEN, primitive, equation, exact)
        if primitive in _ASKED:
            return Why(Origin.ASKED, primitive, equation, exact)
        reduces = found.kind in (CollectiveKind.ALL_REDUCE, CollectiveKind.REDUCE_SCATTER)
        if reduces and primitive not in _ALONG:
            return Why(Origin.SUMMED, primitive, equation, exact)
        if equation is not None and equation in self.context.constrained:
            return Why(Origin.ASKED, "sharding_constraint", equation, exact)
        return self._moved(instruction, primitive, equation, exact)

    def _moved(
        self, instruction: Instruction, primitive: str, equation: int | None, exact: bool
    ) -> Why:
        names = self._names(instruction.operands)
        value = names[0] if len(names) == 1 else ""
        computed = all(map(self._flow.is_computed, instruction.operands))
        why = Why(Origin.MOVED, primitive, equation, exact, value, Need.UNKNOWN, computed=computed)
        # XLA names what it inserts after the operation that it is for, or after what it moves.
        if primitive in _MANUAL:
            return replace(why, need=Need.MANUAL)
        if primitive in _PRODUCTS and not self._product_uses(instruction):
            return replace(why, need=Need.PRODUCT, wanted_by=primitive, wanted_equation=equation)
        if primitive in _ALONG:
            return replace(why, need=Need.DIMENSION, wanted_by=primitive, wanted_equation=equation)
        for user in self._flow.users(instruction):
            # Lowered, a reshape or a slice is a mere movement; as JAX's operation it is the reason.
            if (wanted := self._primitive(user)) in _ALONG:
                wanted_equation, exact = self._equation(user)
                return replace(
                    why,
                    need=Need.DIMENSION,
                    wanted_by=wanted,
                    wanted_equation=wanted_equation,
                    equation=wanted_equation if equation is None else equation,
                    exact=exact if equation is None else why.exact,
                )
        uses, results = self._flow.uses(instruction)
        if not uses:
            return self._as_result(why, results)
        use = uses[0]
        wanted = self._primitive(use.instruction)
        wanted_equation, exact = self._equation(use.instruction)
        if wanted in _ASKED or wanted_equation in self.context.constrained:
            return replace(why, origin=Origin.ASKED, primitive="sharding_constraint")
        why = replace(
            why,
            wanted_by=wanted,
            wanted_equation=wanted_equation,
            equation=wanted_equation if equation is None else equation,
            exact=exact if equation is None else why.exact,
        )
        if wanted in WRITTEN or wanted in _MANUAL:
            return replace(why, need=Need.MANUAL)
        if wanted in _PRODUCTS or use.instruction.opcode == "dot":
            return replace(why, need=Need.PRODUCT)
        if wanted in _ALONG:
            return replace(why, need=Need.DIMENSION)
        others = self._others(use)
        if value and others and primitive in {"", wanted}:
            beside = tuple(name for name in self._names(others) if name != value)
            return replace(why, need=Need.OPERANDS, beside=beside)
        # Only a layout that the caller asked for can still be the reason.
        return why if self.context.free_outputs else _asked_of_outputs(why)

    def _product_uses(self, instruction: Instruction) -> bool:
        """Whether a product takes the value: then that one is meant, not one that made it."""
        uses, _ = self._flow.uses(instruction)
        return any(self._primitive(use.instruction) in _PRODUCTS for use in uses[:1])

    def _as_result(self, why: Why, results: Sequence[int]) -> Why:
        """A value on its way to be a result of the program."""
        if not results:
            return why
        if not self.context.free_outputs:
            return _asked_of_outputs(why)
        outputs = self.context.outputs
        name = outputs[results[0]] if results[0] < len(outputs) else ""
        return replace(why, need=Need.RESULT, value=why.value or name)

    def _others(self, use: Use) -> list[str]:
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
        """The inputs that the values are made of, when data was only moved."""
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
        lines = {_line(self.context.equations[i]) for i in anchor.equations}
        return (anchor.equations[0], False) if len(lines) == 1 else (None, False)

    def _primitive(self, instruction: Instruction) -> str:
        """JAX's operation: that of the equation where a tag tells it, else the name's last word."""
        anchor = self.context.anchors.get(instruction.line)
        if anchor is not None and anchor.exact and anchor.equations:
            return self.context.equations[anchor.equations[0]].primitive
        head, slash, last = instruction.op_name.rpartition("/")
        # What stands alone is the name of an argument. Collectives that XLA has combined into one
        # are called `(psum:psum)`.
        return last.strip("()").partition(":")[0] if slash and head else ""


def _asked_of_outputs(why: Why) -> Why:
    return replace(why, origin=Origin.ASKED, primitive="out_shardings", need=None)


def _line(equation: Equation) -> tuple[int | None, int] | None:
    frame = equation.frames[0] if equation.frames else None
    return None if frame is None else (frame.source, frame.span.line)
