"""The cost of a call besides computing: tracing, callbacks, dispatch; caveats about the figures."""

from collections import Counter
from collections.abc import Iterator

from jaxscope.analysis.cost.program import UNKNOWN_LENGTH
from jaxscope.analysis.cost.roofline import (
    FLOPS_PER_TRANSCENDENTAL,
    dispatch_shares,
    mostly_dispatch,
)
from jaxscope.analysis.findings.evidence import Evidence, TracedCode, timing
from jaxscope.analysis.vmap.lines import place_of
from jaxscope.model import (
    Batching,
    Cost,
    Equation,
    Finding,
    FindingKind,
    Form,
    Program,
    Record,
    Roofline,
    order_interval,
)
from jaxscope.model.program import TRANSFORM
from jaxscope.model.source import EDITED_SINCE
from jaxscope.words import count, seconds, spread

SLOW_DEVICE = 1e9
"""FLOP/s and bytes/s that any device reaches: what takes longer at this rate may be computation."""
SLOW_TRACE_S = 1.0
EQUATIONS_PER_S = 100
"""JAX traces some thousands of equations per second; fewer than this are not what is slow."""

_ESTIMATE = "Use them as an estimate."
_ESTIMATE_OF_LOOPS = (
    "Use them as an estimate: only loops with a known trip count are counted exactly."
)
_CALLBACKS = {
    "debug_callback": "jax.debug.callback",
    "debug_print": "jax.debug.print",
    "pure_callback": "jax.pure_callback",
    "io_callback": "jax.experimental.io_callback",
}
_CHECKS = ("unvmap_any", "unvmap_max")
"""Primitives of `eqx.error_if`, which calls Python where a check fails."""
_MOST_CAVEATS = 3


def calls(evidence: Evidence, traced: TracedCode) -> Iterator[Finding]:
    """Slow tracing, callbacks and host-bound calls."""
    yield from _slow_tracing(evidence)
    for program in evidence.record.programs:
        yield from _callbacks(program)
        yield from _host_bound(program, evidence.record)


def _slow_tracing(evidence: Evidence) -> Iterator[Finding]:
    record, trace_s = evidence.record, evidence.trace_s
    if record.form is not Form.BLOCK or trace_s is None or trace_s <= SLOW_TRACE_S:
        return
    equations = record.programs[0].equations if record.programs else ()
    by_line = Counter(
        frame.span.line
        for equation in equations
        for frame in equation.frames[-1:]
        if frame.source == 0
    )
    line, most = next(iter(by_line.most_common()), (None, 0))
    total = count(len(equations), "equation")
    reason = f"JAX traced {total} in {seconds(trace_s)}; line {line} made {most} of them."
    if line is None or len(equations) < EQUATIONS_PER_S * trace_s:
        line = None
        reason = f"JAX traced only {total}, so most of the time is in other Python code."
    yield Finding(
        FindingKind.SLOW_TRACING,
        line,
        f"Tracing takes {seconds(trace_s)}, and this cell is traced on every run.",
        "Move the code into a function under `@jax.jit`, which is traced once per signature. Or "
        "trace less, with `jax.lax.scan` and data from an earlier cell.",
        reason,
    )


def _callbacks(program: Program) -> Iterator[Finding]:
    found = Counter(
        (place_of(one) or (0, None), _CALLBACKS[one.primitive], _is_in_branch(one, program))
        for one in program.equations
        if one.primitive in _CALLBACKS
    )
    checks = any(equation.primitive in _CHECKS for equation in program.equations)
    call = timing(program, "call") or timing(program, "first call")
    took = f" This call takes {seconds(call.median_s)}." if call is not None else ""
    for ((source, line), public, in_branch), number in found.items():
        what = f"`{public}` makes {program.title} call Python"
        measured = f" In measurements, one callback raised a call of 3-7 µs to 50-360 µs.{took}"
        if in_branch:
            what, measured = f"A branch of {program.title} calls `{public}`", ""
        if public.startswith("jax.debug"):
            fix = "Remove it from code that you time or call often, or guard it with a static flag."
        elif in_branch and checks:
            fix = (
                "Equinox checks values with it: once the code works, start Python with "
                "`EQX_ON_ERROR=off`."
            )
        else:
            fix = (
                "Write it with `jnp` if possible. Otherwise call it rarely, with much work each "
                "time, or outside the compiled function."
            )
        at = "" if line is None else " from this line"
        yield Finding(
            FindingKind.CALLBACK,
            line,
            f"{what}, so calls leave JAX's fast dispatch path.",
            fix,
            f"The program has {count(number, 'callback')}{at}.{measured}",
            source=source,
        )


def _is_in_branch(equation: Equation, program: Program) -> bool:
    """Whether it runs only if a branch of `lax.cond` is taken."""
    parent = equation.parent
    while parent is not None:
        if program.equations[parent].primitive == "cond":
            return True
        parent = program.equations[parent].parent
    return False


def _for_one(program: Program, record: Record) -> str:
    """`for one signature`, where others have the same title: other functions may."""
    alike = [each for each in record.programs if each.title == program.title]
    if len(alike) == 1:
        return ""
    differ = len({each.inputs for each in alike}) == len(alike)
    if differ and TRANSFORM not in program.transforms:
        return " for one signature"
    return f" for one of {len(alike)} programs of that name"


def _host_bound(program: Program, record: Record) -> Iterator[Finding]:
    call, dispatch = program.call, timing(program, "dispatch")
    if call is None or not call.samples or dispatch is None or not program.equations:
        return
    if not mostly_dispatch(call, dispatch):
        return
    share, _ = dispatch_shares(call, dispatch)
    if isinstance(program.roofline, Roofline):
        if program.roofline.verdict != "host-bound":
            return
    elif not _is_little(program, call.median_s):
        return
    batched = "vmap" in program.transforms or isinstance(program.vmap, Batching)
    larger = "map over a larger batch" if batched else "batch calls with `jax.vmap`"
    yield Finding(
        FindingKind.HOST_BOUND,
        None,
        f"{program.title} is host-bound{_for_one(program, record)}: most of a call is dispatch, "
        "not computation.",
        f"Do more work per call: move the loop around it into `jax.lax.scan`, or {larger}.",
        f"Dispatch takes {100 * share:.0f} % of the {seconds(call.median_s)} per call "
        f"({count(len(call.samples), 'round')}).",
    )


def _is_little(program: Program, call_s: float) -> bool:
    """Whether even a slow device would do the work in a fraction of the call."""
    if not isinstance(program.cost, Cost):
        return False
    cost = program.cost
    flops = cost.flops + FLOPS_PER_TRANSCENDENTAL * cost.transcendentals
    work_s = (flops + cost.bytes_accessed) / SLOW_DEVICE
    return not cost.warnings and work_s < call_s / 2


NOISY = 0.10
"""An interval of the median of more than ± 10 % hides differences that people look for."""


def uncertainty(evidence: Evidence, traced: TracedCode) -> Iterator[Finding]:
    """Approximate links, noisy times and estimated costs."""
    edited = any(note.startswith(EDITED_SINCE) for note in evidence.record.notes)
    for program in evidence.record.programs:
        if not (program.exact or edited):  # the note has the fix
            why = program.inexact_why or "its equations carry no tags of this program"
            fix = "Inspect the function before its first call, or run without `--no-recompile`."
            yield Finding(
                FindingKind.APPROXIMATE_SOURCE_MAPPING,
                None,
                f"Links between the source and the compiled stages of {program.title} are "
                "approximate or missing.",
                fix if program.equations else "Pass the function and its arguments instead.",
                f"{why[:1].upper()}{why[1:].rstrip('.')}.",
            )
        for_one = _for_one(program, evidence.record)
        call = program.call
        if call is not None and (call.high_s - call.low_s) / 2 > NOISY * call.median_s > 0:
            whose = f" of {program.title}" if len(evidence.record.programs) > 1 else ""
            rounds = count(len(call.samples), "round")
            times = f"between {seconds(call.low_s)} and {seconds(call.high_s)}"
            known = order_interval(len(call.samples)) is not None
            by = f" by {spread(call.spread)}" if known else ""
            yield Finding(
                FindingKind.UNCERTAIN_FIGURE,
                None,
                f"The time per call{whose} is uncertain{by}{for_one}.",
                "Run again on a quieter machine, or measure more runs with `-n`.",
                f"The median of {rounds} is {times} (95 % confidence)."
                if known
                else f"The {rounds} are {times}: too few for an interval.",
            )
        if isinstance(program.cost, Cost) and program.cost.warnings:
            loops = any(UNKNOWN_LENGTH in each for each in program.cost.warnings)
            caveats = [one.rstrip(".") for one in program.cost.warnings]
            if len(caveats) > _MOST_CAVEATS + 1:
                caveats[_MOST_CAVEATS:] = [f"and {len(caveats) - _MOST_CAVEATS} more"]
            what, fix = "are partly estimated", _ESTIMATE_OF_LOOPS if loops else _ESTIMATE
            if program.cost.partial:
                what = "leave out instructions whose cost is unknown"
                fix = "Compare times instead."
            yield Finding(
                FindingKind.UNCERTAIN_FIGURE,
                None,
                f"FLOPs and bytes of {program.title} {what}{for_one}.",
                fix,
                f"From the count: {'; '.join(caveats)}.",
            )
