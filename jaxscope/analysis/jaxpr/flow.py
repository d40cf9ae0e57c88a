"""The dataflow of a whole program, with the calls in it inlined.

`jnp.where` and most functions of `jax.numpy` are jitted functions of their own, so a pattern such
as a `select_n` that reads a `log` crosses jaxprs. Here a value has one number wherever it is read;
the bodies of loops and the branches of a `cond` stay apart.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import KW_ONLY, dataclass, field

from jaxscope.analysis.jaxpr.autodiff_phase import Passes
from jaxscope.analysis.jaxpr.dataflow import InnerRegion, Region, RegionStep, RegionValue
from jaxscope.model import Phase

_BODIES = frozenset({"scan", "while", "cond", "shard_map"})
"""Their regions run more or less than once, or on a part of each value."""
MOVES = frozenset(
    {"reshape", "broadcast_in_dim", "squeeze", "expand_dims", "transpose", "copy", "copy_p"}
    | {"convert_element_type", "stop_gradient", "optimization_barrier", "reduce_precision"}
)
"""They keep the values of an array."""


@dataclass(frozen=True, eq=False)
class FlowBody:
    """The program, the body of a loop, or a branch."""

    step: FlowStep | None = None
    """The loop or `cond`; None for the program."""
    branch: int = 0
    inner: InnerRegion | None = None

    @property
    def outer(self) -> FlowBody | None:
        return None if self.step is None else self.step.body

    def around(self) -> list[FlowBody]:
        """This body and those around it, innermost first."""
        found: list[FlowBody] = [self]
        while (outer := found[-1].outer) is not None:
            found.append(outer)
        return found


@dataclass(frozen=True, eq=False, slots=True)
class FlowStep:
    """One equation of the program."""

    equation: int
    """Its id."""
    step: RegionStep
    inputs: tuple[int, ...]
    """Values of the program; -1 for a literal."""
    outputs: tuple[int, ...]
    body: FlowBody
    passes: Passes
    _: KW_ONLY
    functions: tuple[str, ...]
    """The names of the inlined functions around it, outermost first."""

    @property
    def primitive(self) -> str:
        return self.step.primitive

    @property
    def is_backward(self) -> bool:
        return Phase.BACKWARD in self.passes or Phase.REMATERIALIZED in self.passes


@dataclass(slots=True)
class _Scope:
    body: FlowBody
    first: int
    passes: Passes
    functions: tuple[str, ...]


@dataclass(eq=False)
class Flow:
    """Steps in their order, and values by number."""

    region: Region
    values: list[RegionValue] = field(default_factory=list[RegionValue])
    steps: list[FlowStep] = field(default_factory=list[FlowStep])
    makers: dict[int, FlowStep] = field(default_factory=dict[int, FlowStep])
    readers: dict[int, list[FlowStep]] = field(default_factory=dict[int, list[FlowStep]])
    results: set[int] = field(default_factory=set[int])
    """Values that leave the program, or the body that makes them."""
    literals: dict[int, float] = field(default_factory=dict[int, float])
    """Literals that were passed to an inlined function."""
    bodies: dict[int, FlowBody] = field(default_factory=dict[int, FlowBody])
    """The body that each value belongs to."""
    made_by: dict[int, str] = field(default_factory=dict[int, str])
    """The name of the inlined function that gives a value, the outermost one."""
    arguments: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    """The results of the program in their order; -1 for a literal."""
    constants: set[int] = field(default_factory=set[int])

    def __post_init__(self) -> None:
        program = FlowBody()
        top = [self._new(self.region.values[i], program) for i in range(self.region.arguments)]
        self.arguments = tuple(top)
        scope = _Scope(program, 0, (), ())
        self.outputs = tuple(self._read(self.region, top, scope))
        self.results.update(self.outputs)

    def _new(self, value: RegionValue, body: FlowBody) -> int:
        self.values.append(value)
        self.bodies[len(self.values) - 1] = body
        return len(self.values) - 1

    def _read(self, region: Region, given: Sequence[int], scope: _Scope) -> list[int]:
        """Read a region whose arguments are these values; return its results."""
        numbers = dict(enumerate(given))
        for index in range(region.arguments, region.arguments + region.constants):
            numbers[index] = self._new(region.values[index], scope.body)
            self.constants.add(numbers[index])
        for step in region.steps:
            inputs = tuple([numbers.get(i, -1) for i in step.inputs])
            inlined = self._inlined(step, inputs, scope)
            outputs = self._plain(region, step, inputs, scope) if inlined is None else inlined
            numbers.update({i: v for i, v in zip(step.outputs, outputs, strict=False) if i >= 0})
        return [numbers.get(i, -1) for i in region.results]

    def _inlined(
        self, step: RegionStep, inputs: tuple[int, ...], scope: _Scope
    ) -> list[int] | None:
        """The outputs of a function that runs once on all values; None for any other step."""
        if step.primitive in _BODIES or len(step.inner) != 1:
            return None
        (inner,) = step.inner
        if not inner.yields or inner.inputs is None or len(inner.inputs) != len(inputs):
            return None
        values: list[int] = []
        for position, value in enumerate(inputs):
            number = value
            if value < 0:
                number = self._new(inner.region.values[position], scope.body)
                if position in step.literals:
                    self.literals[number] = step.literals[position]
            values.append(number)
        names = (*scope.functions, step.label) if step.label else scope.functions
        passes = scope.passes + step.passes
        inside = _Scope(scope.body, scope.first + inner.offset, passes, names)
        results = self._read(inner.region, values, inside)
        if step.label:
            self.made_by.update({value: names[0] for value in results if value not in values})
        return results

    def _plain(
        self, region: Region, step: RegionStep, inputs: tuple[int, ...], scope: _Scope
    ) -> list[int]:
        outputs = [
            -1 if index < 0 else self._new(region.values[index], scope.body)
            for index in step.outputs
        ]
        made = FlowStep(
            scope.first + step.offset,
            step,
            inputs,
            tuple(outputs),
            scope.body,
            scope.passes + step.passes,
            functions=scope.functions,
        )
        self.steps.append(made)
        self.makers.update({value: made for value in outputs if value >= 0})
        for value in dict.fromkeys(inputs):
            self.readers.setdefault(value, []).append(made)
        for branch, inner in enumerate(step.inner):
            self._body(made, branch, inner, scope)
        return outputs

    def _body(self, step: FlowStep, branch: int, inner: InnerRegion, scope: _Scope) -> None:
        body = FlowBody(step, branch, inner)
        shared = range(0)
        if inner.inputs is not None and step.primitive == "cond":
            shared = range(inner.region.arguments)
        elif inner.inputs is not None and inner.invariant is not None:
            shared = range(inner.invariant)
        given: list[int] = []
        for index in range(inner.region.arguments):
            outer = step.inputs[inner.inputs[index]] if inner.inputs and index in shared else -1
            given.append(outer if outer >= 0 else self._new(inner.region.values[index], body))
        first, passes = scope.first + inner.offset, step.passes
        self.results.update(
            self._read(inner.region, given, _Scope(body, first, passes, scope.functions))
        )

    def origin(self, value: int, through: Collection[str] = MOVES) -> int:
        """The value behind operations that move it, such as reshapes and casts."""
        while (maker := self.makers.get(value)) is not None and maker.primitive in through:
            value = maker.inputs[0]
        return value

    def maker(self, value: int, through: Collection[str] = MOVES) -> FlowStep | None:
        """The step that makes a value, behind operations that move it."""
        return self.makers.get(self.origin(value, through))

    def literal(self, step: FlowStep, position: int) -> float | None:
        """The number that an input is, where it is a literal."""
        value = step.inputs[position]
        if value < 0:
            return step.step.literals.get(position)
        source = self.origin(value)
        if source in self.literals:
            return self.literals[source]
        moved = value
        while (maker := self.makers.get(moved)) is not None and maker.primitive in MOVES:
            if maker.inputs[0] < 0:
                return maker.step.literals.get(0)
            moved = maker.inputs[0]
        return None

    def shape(self, value: int) -> tuple[int, ...]:
        return self.values[value].shape if value >= 0 else ()

    def dtype(self, value: int) -> str:
        """`f32`; empty for a literal."""
        return self.values[value].aval.partition("[")[0] if value >= 0 else ""
