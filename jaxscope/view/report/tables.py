"""The tables of a report, independent of the output format."""

from __future__ import annotations

from collections import defaultdict

from jaxscope import words
from jaxscope.model import (
    Compile,
    CompileKind,
    Cost,
    Form,
    Memory,
    Persistent,
    Program,
    Record,
    Roofline,
    Timing,
    Value,
    order_interval,
)
from jaxscope.view.base.table import Table


def values(values: tuple[Value, ...]) -> Table:
    """Inputs, outputs or constants."""
    return Table.of(
        values,
        ("<", "name", lambda value: value.name),
        ("<", "kind", lambda value: str(value.kind)),
        ("<", "type or value", lambda value: value.aval),
        (">", "size", lambda value: "" if value.bytes is None else words.size(value.bytes)),
        ("<", "where", lambda value: value.sharding),
        ("<", "why", lambda value: value.reason),
    )


def timings(timings: tuple[Timing, ...]) -> Table:
    """One row per timing."""

    def median(t: Timing) -> str:
        return f"{words.seconds(t.median_s)} {words.spread(t.spread)}".rstrip()

    def interval(t: Timing) -> str:
        known = order_interval(len(t.samples)) is not None
        return f"{words.seconds(t.low_s)} … {words.seconds(t.high_s)}" if known else words.UNKNOWN

    return Table.of(
        timings,
        ("<", "what", lambda t: t.label),
        ("<", "device", lambda t: t.device),
        (">", "median", median),
        (">", "95 % interval", interval),
        (">", "rounds", lambda t: f"{len(t.samples)} × {words.count(t.inner, 'call')}"),
        ("<", "note", lambda t: t.note),
    )


def work(program: Program) -> Table:
    """FLOPs and bytes per call, and the peaks of the device."""
    cost, roofline = program.cost, program.roofline
    rows: list[tuple[str, str, str]] = []
    if isinstance(cost, Cost):
        rows += [
            ("FLOPs", words.flops(cost.flops), "every loop iteration counted"),
            ("transcendentals", words.short(cost.transcendentals), "sin, exp, tanh and the like"),
            (
                "bytes accessed",
                words.size(cost.bytes_accessed),
                "by all instructions, caches ignored",
            ),
            (
                "intensity",
                words.UNKNOWN if cost.partial else words.intensity(cost.intensity),
                "FLOPs per byte",
            ),
            *(("caveat", "≈", doubt) for doubt in cost.warnings),
        ]
    else:
        rows.append(("cost", words.UNKNOWN, cost.reason))
    if isinstance(roofline, Roofline):
        peaks = f"{words.flop_rate(roofline.peak_flops)}, {words.byte_rate(roofline.peak_bytes)}"
        rows += [
            ("verdict", roofline.verdict, roofline.evidence),
            ("peaks", peaks, f"measured on {roofline.device}"),
        ]
    else:
        rows.append(("verdict", words.UNKNOWN, roofline.reason))
    return Table(("", "", ""), tuple(rows), right=(1,))


def memory(program: Program) -> Table:
    """Bytes on the device while the program runs."""
    memory = program.memory
    if not isinstance(memory, Memory):
        return Table(("", "", ""), (("memory", words.UNKNOWN, memory.reason),))
    return Table(
        ("", "", ""),
        (
            ("peak", words.size(memory.peak), "arguments, outputs and temporaries together"),
            ("arguments", words.size(memory.argument), ""),
            ("outputs", words.size(memory.output), ""),
            ("temporaries", words.size(memory.temp), ""),
            ("aliased", words.size(memory.alias), "outputs in the memory of donated arguments"),
        ),
        right=(1,),
    )


_PERSISTENT = {
    Persistent.OFF: "off",
    Persistent.HIT: "hit",
    Persistent.WRITTEN: "miss, stored",
    Persistent.NOT_WRITTEN: "miss, not stored",
}


def compiles(compiles: tuple[Compile, ...], record: Record) -> Table:
    """Compilations in order, with their time by stage."""
    return Table.of(
        compiles,
        ("<", "function", lambda compile: compile.fun_name),
        ("<", "kind", lambda compile: str(compile.kind)),
        ("<", "from", lambda compile: site(compile, record)),
        (">", "trace", lambda compile: words.seconds(compile.trace_s)),
        (">", "lower", lambda compile: words.seconds(compile.lower_s)),
        (">", "XLA", lambda compile: words.seconds(compile.compile_s)),
        (">", "total", lambda compile: words.seconds(compile.total_s)),
        ("<", "persistent cache", lambda compile: _PERSISTENT[compile.persistent]),
    )


def environment(record: Record) -> Table:
    """Versions and settings that the figures depend on."""
    env = record.environment
    rows = (
        ("jaxscope", env.jaxscope),
        ("jax", f"{env.jax}, jaxlib {env.jaxlib}"),
        ("python", f"{env.python} on {env.platform}"),
        ("devices", ", ".join(env.devices) or words.UNKNOWN),
        ("float64", "enabled" if env.x64 else "not enabled"),
        *env.flags,
        ("created", record.created),
        ("whole run", f"{words.seconds(record.wall_s)}, including jaxscope's own work"),
    )
    return Table(("", ""), rows if record.wall_s is not None else rows[:-1])


def site(compile: Compile, record: Record) -> str:
    """The line of the call that compiled."""
    frame = compile.site
    if frame is None:
        return ""
    if frame.source is not None and frame.source < len(record.sources):
        return f"{record.sources[frame.source].name}:{frame.span.line}"
    return f"{frame.file}:{frame.span.line}"


_RAN_PLAIN = {
    Form.PROFILED: "The cell ran as plain Python without a profile: no stages to show.",
    Form.PLAIN: "jaxscope could not trace this cell, so it ran as plain Python.",
}


def no_program(record: Record) -> str:
    """The reason for having no program to show; empty when there is one, or a note gives it."""
    if record.programs:
        return ""
    if record.profile is not None:
        if not record.profile.runs:
            return "JAX ran no program in this cell."
        released = record.profile.runs > record.profile.eager
        either = ", or its program was released" if released else ""
        return f"No jitted function of yours ran here{either}: no stages to show."
    if record.form in _RAN_PLAIN:
        return "" if record.notes else _RAN_PLAIN[record.form]
    if record.compiles:
        took = defaultdict[str, list[float]](list)
        for one in record.compiles:
            took[one.fun_name].append(one.total_s)
        longest = sorted(took.items(), key=lambda pair: -sum(pair[1]))
        names = [f"`{name}`" + (f" × {len(s)}" if len(s) > 1 else "") for name, s in longest]
        eager = all(one.kind is CompileKind.EAGER for one in record.compiles)
        what = "eager operations" if eager else "other functions"
        return (
            f"Only {what} compiled here ({words.listed(names, 3)}), so there are no "
            "stages, costs or timings for this cell. `%jaxlog` shows them."
        )
    if record.notes:
        return ""
    return "Nothing was compiled in this run, so there are no stages, costs or timings."
