"""Elements that are picked by `nonzero` only to be reduced."""

import math
from collections.abc import Iterator

from jaxscope.analysis.findings.evidence import Evidence, TracedCode
from jaxscope.analysis.jaxpr.flow import MOVES, Flow, FlowStep
from jaxscope.analysis.vmap.lines import place_of
from jaxscope.model import Finding, FindingKind

PICKED = 1024
"""Elements of the mask from which a `where` is measurably faster on a CPU."""
_NEUTRAL = {
    "reduce_sum": "0",
    "reduce_prod": "1",
    "reduce_max": "-jnp.inf",
    "reduce_min": "jnp.inf",
}
_INDEXING = MOVES | {
    "cumsum", "div", "rem", "sign", "eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not",
    "select_n", "add", "sub", "mul", "max", "min", "clamp",
}  # fmt: skip
"""Operations of `nonzero` and of indexing on indices."""
_BY_ELEMENT = frozenset({
    "mul", "add", "sub", "div", "pow", "max", "min", "integer_pow", "square", "neg", "abs", "sign",
    "exp", "log", "log1p", "expm1", "sqrt", "rsqrt", "tanh", "logistic", "sin", "cos",
    "convert_element_type", "copy", "stop_gradient",
})  # fmt: skip


def masks(_: Evidence, traced: TracedCode) -> Iterator[Finding]:
    """Sums and other reductions of `x[jnp.nonzero(mask, size=n)]`."""
    for program, flow in traced.flows:
        for step in flow.steps:
            size = _places(flow, step)
            place = place_of(program.equations[step.equation])
            if size < PICKED or step.is_backward or place is None:
                continue
            gathers = _gathers(flow, step)
            instead = "" if not gathers else _instead(flow, gathers, size)
            if not instead:
                continue
            yield Finding(
                FindingKind.MASKED_REDUCTION,
                place[1],
                "The elements that `nonzero` picks are only reduced, and the mask alone would do.",
                f"{instead} instead, which moves no element. It takes what the mask selects, "
                "and no padding of `size=`.",
                f"Nothing else reads the places of the {size} elements.",
                source=place[0],
            )


def _places(flow: Flow, step: FlowStep) -> int:
    """The elements of the mask, where the step gives the places of `nonzero`, or begins to.

    Before JAX 0.12, it numbers the elements by a cumulative sum of the mask, adds 1 at each number
    in a scatter, and sums again.
    """
    if type(step.step.params.get("_prim")).__name__ == "Nonzero":
        shape = flow.shape(step.inputs[0])
        return shape[0] if len(shape) == 1 else 0
    if step.primitive != "scatter-add" or len(flow.shape(step.outputs[0])) != 1:
        return 0
    if flow.literal(step, 2) != 1.0:
        return 0
    value, last = step.inputs[1], step
    for _ in range(_CHAIN):
        maker = flow.makers.get(value)
        if maker is None or maker.primitive not in _INDEXING:
            return 0
        value, last = max(maker.inputs, key=lambda i: len(flow.shape(i))), maker
        if maker.primitive == "cumsum":
            break
    mask = flow.origin(value)
    is_mask = last.primitive == "cumsum" and flow.dtype(mask) == "bool"
    return flow.shape(mask)[0] if is_mask and len(flow.shape(mask)) == 1 else 0


_CHAIN = 16
"""Steps from the cumulative sum to the scatter, with room for what JAX may add."""


def _gathers(flow: Flow, step: FlowStep) -> list[FlowStep]:
    """The gathers that read the places; empty if anything else does."""
    found: dict[FlowStep, None] = {}
    waiting, seen = [step.outputs[0]], set[int]()
    while waiting:
        value = waiting.pop()
        if value in seen:
            continue
        seen.add(value)
        if value in flow.results:
            return []
        for reader in flow.readers.get(value, ()):
            if reader.primitive == "gather" and value == reader.inputs[1]:
                found[reader] = None
            elif reader.primitive in _INDEXING:
                waiting += [output for output in reader.outputs if output >= 0]
            else:
                return []
    return list(found)


def _instead(flow: Flow, gathers: list[FlowStep], size: int) -> str:
    """The reduction under the mask; empty where anything else is done with what was picked."""
    if any(flow.shape(gather.inputs[0])[:1] != (size,) for gather in gathers):
        return ""
    picked = {gather.outputs[0] for gather in gathers}
    for step in flow.steps:  # makers come before readers
        if step.primitive in _BY_ELEMENT and _alone(flow, step, picked):
            picked.update(step.outputs)
    found: set[str] = set()
    for value in picked:
        readers = flow.readers.get(value, ())
        if value in flow.results or not readers:
            return ""
        for reader in readers:
            if reader.primitive in _NEUTRAL and 0 in reader.step.params.get("axes", ()):
                found.add(_of_mask(flow, reader))
            elif not picked.issuperset(reader.outputs):
                return ""
    return found.pop() if len(found) == 1 else ""


def _of_mask(flow: Flow, reduction: FlowStep) -> str:
    """`jnp.where` with the element that changes nothing of a reduction; a mean divides as well."""
    after = flow.readers.get(reduction.outputs[0], ())
    number = math.prod(flow.shape(reduction.inputs[0]))
    if reduction.primitive == "reduce_sum" and any(
        one.primitive == "div" and flow.literal(one, 1) == number for one in after
    ):
        return "Use `jnp.mean(values, where=mask)`"
    neutral = _NEUTRAL[reduction.primitive]
    if "inf" in neutral and flow.dtype(reduction.inputs[0])[0] in "iu":
        neutral = f"jnp.iinfo(values.dtype).{'max' if neutral == 'jnp.inf' else 'min'}"
    return f"Reduce `jnp.where(mask, values, {neutral})`"


def _alone(flow: Flow, step: FlowStep, picked: set[int]) -> bool:
    """Whether the step reads picked elements, and besides them scalars only."""
    others = [i for i in step.inputs if i not in picked]
    return len(others) < len(step.inputs) and all(flow.shape(flow.origin(i)) == () for i in others)
