"""Random keys that are used twice."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

from jaxscope.analysis.findings.evidence import Evidence, TracedCode
from jaxscope.analysis.jaxpr.calls import lines_in_loops
from jaxscope.analysis.jaxpr.flow import Flow, FlowBody, FlowStep
from jaxscope.analysis.vmap.lines import Place, place_of
from jaxscope.model import Finding, FindingKind, Frame, Program
from jaxscope.words import count

_CONSUME = frozenset({"random_bits", "random_split", "random_gamma"})
"""As in `jax.experimental.key_reuse`; `random_fold_in` makes as many keys as there are numbers."""
_VIEWS = frozenset(
    {"random_wrap", "random_unwrap", "slice", "squeeze", "reshape", "broadcast_in_dim"}
    | {"dynamic_slice", "convert_element_type", "copy"}
)
_DERIVE = frozenset({"random_split", "random_fold_in"})
"""Equal ones of the same key give the same keys, so two of them are one."""
_FIX = "Split it first, `key, subkey = jax.random.split(key)`, and use each key once."


class _Use(NamedTuple):
    step: FlowStep
    key: int


def key_reuse(evidence: Evidence, traced: TracedCode) -> Iterator[Finding]:
    """Keys from which a program draws twice, or in every iteration of a loop."""
    looped = [lines_in_loops(source) for source in evidence.record.sources]
    for program, flow in traced.flows:
        used: dict[Hashable, list[_Use]] = {}
        known: dict[int, Hashable] = {}
        for step in flow.steps:
            if step.primitive in _CONSUME and not step.is_backward and step.inputs[0] >= 0:
                used.setdefault(_identity(flow, step.inputs[0], known), []).append(
                    _Use(step, step.inputs[0])
                )
        for uses in used.values():
            # The same split twice gives the same keys: what draws from them decides.
            splits = {_shown(u.step.step.params): u for u in reversed(uses) if _splits(u)}
            distinct = [u for u in uses if not _splits(u) or u in splits.values()]
            yield from _again(program, flow, distinct, looped)


def _splits(use: _Use) -> bool:
    return use.step.primitive == "random_split"


def _identity(flow: Flow, value: int, known: dict[int, Hashable]) -> Hashable:
    """Equal for equal parts of one array of keys."""
    if value not in known:
        maker = flow.makers.get(value)
        found: Hashable = value
        if maker is not None and maker.primitive in ("random_wrap", "random_unwrap"):
            found = _identity(flow, maker.inputs[0], known)
        elif maker is not None and (maker.primitive in _VIEWS or maker.primitive in _DERIVE):
            literals = maker.step.literals
            given = [
                literals.get(p, maker) if i < 0 else _identity(flow, i, known)
                for p, i in enumerate(maker.inputs)
            ]
            found = (maker.primitive, *given, _shown(maker.step.params))
        known[value] = found
    return known[value]


def _shown(params: Mapping[str, object]) -> str:
    return repr([(k, v) for k, v in sorted(params.items()) if k not in ("sharding", "mode")])


def _again(
    program: Program, flow: Flow, uses: list[_Use], looped: list[frozenset[int]]
) -> Iterator[Finding]:
    first = uses[0]
    place = place_of(program.equations[first.step.equation])
    if place is None:
        return
    name = _name(program, flow, first.key)
    loop = _loop(flow, first)
    if loop is not None and loop.step is not None:
        around = program.equations[loop.step.equation].frames
        if around == program.equations[first.step.equation].frames:
            return  # both are in one call of a library, such as a solver with a Brownian path
        times = loop.inner.times if loop.inner is not None else 1
        many = f" {times:.0f} iterations" if times > 1 else " iterations"
        yield Finding(
            FindingKind.KEY_REUSE,
            place[1],
            f"{name} is the same in all{many} of the loop, so each draws the same numbers.",
            "Split it before the loop and pass the keys as `xs`, or carry the key.",
            f"The key comes from outside the `{loop.step.primitive}`, and its body draws from it.",
            source=place[0],
        )
        return
    for other in uses[1:]:
        there = place_of(program.equations[other.step.equation])
        if there is None or not _both_run(first.step, other.step):
            continue
        one = program.equations[first.step.equation].frames
        two = program.equations[other.step.equation].frames
        before = place
        if one == two:
            # Twice in one call of a library, unless a loop of the user's is around it.
            turn = next((f for f in two if _is_looped(f, looped)), None)
            if turn is None:
                continue
            before = there = _place((turn,)) or there
        elif place == there:
            if first.step.passes or other.step.passes:
                continue  # a loss and its gradient may share a dropout mask on purpose
            # Both draws are in one function: its calls differ.
            pairs = zip(one, two, strict=False)
            same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
            before, there = _place(one[same:]) or place, _place(two[same:]) or there
        if before[0] != there[0]:
            where = "first in another source"
        elif before != there:
            where = f"first on line {before[1]}"
        else:
            where = "in each iteration of the loop" if one == two else "earlier on this line"
        yield Finding(
            FindingKind.KEY_REUSE,
            there[1],
            f"{name} was used before ({where}), so these numbers are not independent.",
            _FIX,
            f"{program.title} uses this key {count(len(uses), 'time')}.",
            source=there[0],
        )
        return


def _is_looped(frame: Frame, looped: list[frozenset[int]]) -> bool:
    source = frame.source
    return source is not None and source < len(looped) and frame.span.line in looped[source]


def _place(frames: Sequence[Frame]) -> Place | None:
    """The innermost line of a stored source: the cell's where one of these frames is there."""
    known = [(f.source, f.span.line) for f in frames if f.source is not None]
    return next((place for place in known if place[0] == 0), known[0] if known else None)


def _loop(flow: Flow, use: _Use) -> FlowBody | None:
    """The innermost loop that draws in each iteration from a key of the code around it."""
    owner = flow.bodies[flow.origin(use.key, _VIEWS)]
    for body in use.step.body.around():
        if body is owner or body.step is None:
            return None
        repeats = body.inner is not None and (
            body.step.primitive == "while" or body.inner.times >= 2
        )
        if body.step.primitive in ("scan", "while") and repeats:
            return body
    return None


def _both_run(one: FlowStep, other: FlowStep) -> bool:
    """Whether no `cond` chooses between the two."""
    branches = {id(b.step): b.branch for b in one.body.around() if b.step is not None}
    return all(
        b.step is None
        or b.step.primitive != "cond"
        or branches.get(id(b.step), b.branch) == b.branch
        for b in other.body.around()
    )


def _name(program: Program, flow: Flow, key: int) -> str:
    origin = flow.origin(key, ("random_wrap", "random_unwrap"))
    inputs = [value.name for value in program.inputs if value.kind not in ("static", "unused")]
    if origin in flow.arguments and len(inputs) == len(flow.arguments):
        return f"`{inputs[flow.arguments.index(origin)]}`"
    return "This key"
