"""What a call costs besides computing: tracing, callbacks, dispatch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from jaxscope.analysis.findings.evidence import Evidence, timing
from jaxscope.analysis.findings.source_code import Reading
from jaxscope.model import (
    Cost,
    Finding,
    FindingKind,
    Form,
    Program,
    Roofline,
)
from jaxscope.words import count, seconds

DISPATCH_SHARE = 0.5
DISPATCH_S = 50e-6
"""The most that dispatch takes: some 10 µs and 2 µs an output. What returns later has computed
before it returned, as small programs do on the CPU."""
SLOW_DEVICE = 1e9
"""FLOP/s and bytes/s that any device reaches: what needs longer at this rate may be work."""
SLOW_TRACE_S = 1.0

_CALLBACKS = {
    "debug_callback": "jax.debug.callback",
    "debug_print": "jax.debug.print",
    "pure_callback": "jax.pure_callback",
    "io_callback": "jax.experimental.io_callback",
}


def calls(evidence: Evidence, reading: Reading) -> Iterator[Finding]:
    """Slow traces, callbacks and calls that are mostly dispatch."""
    yield from _slow_trace(evidence)
    for program in evidence.record.programs:
        yield from _callbacks(program)
        yield from _dispatch(program)


# Tracing


def _slow_trace(evidence: Evidence) -> Iterator[Finding]:
    record, traced = evidence.record, evidence.trace_s
    if record.form is not Form.BLOCK or traced is None or traced <= SLOW_TRACE_S:
        return
    program = record.programs[0] if record.programs else None
    by_line = Counter(
        frame.span.line
        for equation in (program.equations if program is not None else ())
        for frame in equation.frames[-1:]
        if frame.source == 0
    )
    line, most = by_line.most_common(1)[0] if by_line else (None, 0)
    total = len(program.equations) if program is not None else 0
    yield Finding(
        FindingKind.SLOW_TRACE,
        line,
        f"Tracing the cell takes {seconds(traced)}, and in block form it is paid on every run.",
        "Put the code into a function under `@jax.jit`, which is traced once for each signature; "
        "or trace less: `jax.lax.scan` in place of a Python loop, data made in a cell before.",
        f"The cell ran {seconds(traced)} under the tracer"
        + (f"; line {line} made {most} of {count(total, 'equation')}." if line else "."),
    )


# Callbacks


def _callbacks(program: Program) -> Iterator[Finding]:
    found: dict[tuple[int, int | None, str], int] = {}
    for equation in program.equations:
        public = _CALLBACKS.get(equation.primitive)
        if public is not None:
            frame = next((f for f in equation.frames if f.source == 0), None)
            frame = frame or next((f for f in equation.frames if f.source is not None), None)
            source = 0 if frame is None or frame.source is None else frame.source
            line = None if frame is None else frame.span.line
            key = (source, line, public)
            found[key] = found.get(key, 0) + 1
    for (source, line, public), number in found.items():
        if public.startswith("jax.debug"):
            fix = (
                "Take it out of what you time and of what runs often, or guard it by a static flag."
            )
        else:
            fix = (
                "Write it with `jnp` if you can; otherwise call it seldom, with much work at a "
                "time, or do that part outside the compiled function."
            )
        call = timing(program, "call") or timing(program, "first call")
        took = f" A call took {seconds(call.median_s)}." if call is not None else ""
        yield Finding(
            FindingKind.CALLBACK,
            line,
            f"`{public}` makes the program call Python back: calls of {program.title} leave "
            "JAX's fast path and wait for the interpreter.",
            fix,
            f"The program has {count(number, 'callback')} from here; a callback was measured to "
            f"raise a call of 3-7 µs to 50-360 µs.{took}",
            source,
        )


# Dispatch


def _dispatch(program: Program) -> Iterator[Finding]:
    call, dispatch = program.call, timing(program, "dispatch")
    if call is None or not call.samples or dispatch is None or not program.equations:
        return
    share = dispatch.median_s / call.median_s
    if share <= DISPATCH_SHARE or dispatch.median_s > DISPATCH_S:
        return
    if isinstance(program.roofline, Roofline):
        if program.roofline.verdict != "dispatch-bound":
            return
    elif not _is_little(program, call.median_s):
        return
    yield Finding(
        FindingKind.DISPATCH_BOUND,
        None,
        f"A call of {program.title} spends most of its time on the way to the program, not in it.",
        "Do more at each call: move the loop around it inside with `jax.lax.scan`, or batch many "
        "calls into one with `jax.vmap`.",
        f"{100 * share:.0f} % of the {seconds(call.median_s)} of a call "
        f"({count(len(call.samples), 'round')}) are over before JAX returns.",
    )


def _is_little(program: Program, call_s: float) -> bool:
    """Whether even a slow device would do the work in a fraction of the call."""
    if not isinstance(program.cost, Cost):
        return False
    cost = program.cost
    # A vectorized exp or sin takes some 25 operations.
    work = (cost.flops + 25 * cost.transcendentals + cost.bytes_accessed) / SLOW_DEVICE
    return not cost.doubts and work < DISPATCH_SHARE * call_s
