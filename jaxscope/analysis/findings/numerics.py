"""Numerical traps: gradients that are NaN behind a `where`, and exponentials that overflow."""

import math
from collections.abc import Container, Iterator

from jaxscope.analysis.findings.evidence import Evidence, TracedCode
from jaxscope.analysis.jaxpr.flow import MOVES, Flow, FlowStep
from jaxscope.analysis.vmap.lines import place_of
from jaxscope.model import Finding, FindingKind, Program

_LARGEST_EXPONENT = {"f32": 88, "bf16": 88, "f16": 11, "f64": 709}
"""The logarithm of the type's largest number."""
_ELEMENTWISE = frozenset({"mul", "add", "sub", "neg", "div"}) | MOVES
_CHAIN = 16
_COMPARES = {
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "ne": lambda a, b: a != b,
    "eq": lambda a, b: a == b,
}
_UNBOUNDED = frozenset({"mul", "div", "add", "dot_general", "conv_general_dilated"}) | MOVES
"""They may give large numbers, as nothing in `x - x.max()`, `tanh(x)` or `-x` does."""


def numerics(evidence: Evidence, traced: TracedCode) -> Iterator[Finding]:
    """NaN behind a `where`, and softmax by hand."""
    for program, flow in traced.flows:
        backward = {
            program.equations[step.equation].frames for step in flow.steps if step.is_backward
        }
        for step in flow.steps:
            if step.is_backward:
                continue
            if step.primitive == "select_n" and backward:
                yield from _nan_gradient(program, flow, step, backward)
            elif step.primitive in ("div", "log"):
                yield from _overflow(program, flow, step)


def _nan_gradient(
    program: Program, flow: Flow, select: FlowStep, backward: Container[object]
) -> Iterator[Finding]:
    compare = flow.maker(select.inputs[0])
    if compare is None or compare.primitive not in _COMPARES or len(select.inputs) != 3:
        return
    cases = [(case, *one) for case in (0, 1) for one in _singular(flow, select, 1 + case)]
    for case, singular, operand in cases:
        chosen = _chosen_at_zero(flow, compare, operand)
        if chosen is None and singular.primitive == "sqrt":  # it is 0 where its argument is
            chosen = _chosen_at_zero(flow, compare, flow.origin(singular.outputs[0]))
        equation = program.equations[singular.equation]
        place = place_of(equation)
        if chosen is None or chosen == case or place is None or equation.frames not in backward:
            continue
        other = flow.literal(select, 2 - case)
        if other is not None and math.isnan(other):
            continue
        if not _is_differentiated(flow, singular, operand):
            continue
        shown = {"div": "division", "integer_pow": "power", "pow": "power"}.get(
            singular.primitive, f"`{singular.primitive}`"
        )
        what = "its divisor" if singular.primitive == "div" else "its argument"
        root = flow.makers.get(operand) if singular.primitive == "div" else None
        guarded = what
        if root is not None and root.primitive == "sqrt":
            guarded = "the argument of its square root, whose derivative at 0 is infinite"
        yield Finding(
            FindingKind.NAN_GRADIENT,
            place[1],
            f"The gradient of this {shown} is NaN where {what} is 0, although `where` discards "
            "the value there."
            if shown[0] != "`"
            else f"The gradient of {shown} is NaN where {what} is 0, although `where` discards "
            "the value there.",
            f"Guard {guarded}, too: `jnp.where(condition, x, 1.0)` inside, and the same `where` "
            "around the result.",
            "The backward pass multiplies the zero cotangent of `where` by an infinite derivative.",
            source=place[0],
        )
        return


def _singular(flow: Flow, select: FlowStep, position: int) -> Iterator[tuple[FlowStep, int]]:
    """Operations without a derivative at 0 that only this `where` reads, with their arguments."""
    pending = [(select, select.inputs[position])]
    for _ in range(_CHAIN):
        if not pending:
            return
        reader, value = pending.pop()
        step = flow.makers.get(value)
        others = [
            r
            for r in flow.readers.get(value, ())
            if r is not reader and not _is_of_derivative(flow, r)
        ]
        if step is None or others or value in flow.results:
            continue
        match step.primitive:
            case "log" | "sqrt" | "rsqrt":
                yield step, flow.origin(step.inputs[0])
            case "div" if step.inputs[1] >= 0 and flow.literal(step, 1) is None:
                yield step, flow.origin(step.inputs[1])
            case "integer_pow" if int(step.step.params.get("y", 1)) < 0:
                yield step, flow.origin(step.inputs[0])
            case "pow" if (power := flow.literal(step, 1)) is not None and power < 1:
                yield step, flow.origin(step.inputs[0])
            case primitive if primitive in _ELEMENTWISE:
                # A zero cotangent stays zero through a product, or is NaN already.
                pending += [
                    (step, i)
                    for at, i in enumerate(step.inputs)
                    if i >= 0 and flow.literal(step, at) is None
                ]
            case _:
                pass


def _is_of_derivative(flow: Flow, reader: FlowStep) -> bool:
    """Whether a reader is of a derivative, or has none."""
    if reader.is_backward or reader.step.passes or reader.primitive in _COMPARES:
        return True
    return reader.primitive == "div" and flow.literal(reader, 0) == 0.5  # of a square root


def _is_differentiated(flow: Flow, singular: FlowStep, operand: int) -> bool:
    """Whether its derivative is computed: a quotient by, or a power of, its argument or result."""
    known = {operand, *map(flow.origin, singular.outputs)}
    derivative = {"div": 1, "pow": 0, "integer_pow": 0}
    return any(
        step is not singular
        and (position := derivative.get(step.primitive)) is not None
        and flow.origin(step.inputs[position]) in known
        for step in flow.steps
    )


def _chosen_at_zero(flow: Flow, compare: FlowStep, operand: int) -> int | None:
    """The case that `where` takes where the operand is 0; None if it does not depend on that."""
    test = _COMPARES[compare.primitive]
    for side in (0, 1):
        bound = flow.literal(compare, 1 - side)
        value = compare.inputs[side]
        if value >= 0 and bound is not None and flow.origin(value) == operand:
            return int(test(0.0, bound) if side == 0 else test(bound, 0.0))
    return None


def _overflow(program: Program, flow: Flow, step: FlowStep) -> Iterator[Finding]:
    total = step.inputs[1] if step.primitive == "div" else step.inputs[0]
    summed = flow.maker(total)
    if summed is None or summed.primitive != "reduce_sum":
        return
    exponential = flow.maker(summed.inputs[0])
    if exponential is None or exponential.primitive != "exp":
        return
    if step.primitive == "div":
        above = flow.maker(step.inputs[0])
        if above is None or above.primitive != "exp" or above.inputs != exponential.inputs:
            return
    place = place_of(program.equations[step.equation])
    largest = _LARGEST_EXPONENT.get(flow.dtype(exponential.outputs[0]))
    if place is None or largest is None or not _may_be_large(flow, exponential.inputs[0]):
        return
    softmax = step.primitive == "div"
    logarithm = any(one.primitive == "log" for one in flow.readers.get(step.outputs[0], ()))
    function = ("log_softmax" if logarithm else "softmax") if softmax else "logsumexp"
    yield Finding(
        FindingKind.EXP_OVERFLOW,
        place[1],
        f"`exp` overflows above {largest}, and this "
        + ("quotient is NaN then." if softmax else "logarithm is infinite then."),
        f"Use `jax.nn.{function}`, which subtracts the maximum first.",
        f"Nothing bounds the argument of `exp`, which is {flow.values[exponential.outputs[0]].aval}"
        ".",
        source=place[0],
    )


def _may_be_large(flow: Flow, value: int) -> bool:
    """Whether nothing between an input or a product and the value bounds it."""
    for _ in range(_CHAIN):
        step = flow.makers.get(value)
        if step is None:
            return value in flow.arguments
        if step.primitive not in _UNBOUNDED:
            return False
        if step.primitive in ("dot_general", "conv_general_dilated"):
            return True
        if any((flow.literal(step, p) or 0.0) < 0 for p in range(len(step.inputs))):
            return False
        value = next((i for i in step.inputs if i >= 0), -1)
    return False
