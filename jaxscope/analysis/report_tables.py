"""Tables of a report: column names and rows of plain values, for data frames and other tools."""

import math
from collections.abc import Callable

from jaxscope.analysis.compiles.groups import line_text, place, storm_of
from jaxscope.analysis.cost import InstructionCost
from jaxscope.analysis.hlo import real_instructions
from jaxscope.analysis.links.line_figures import (
    LineFigures,
    compiled_program,
    defining_lines,
    figures,
    phase_of,
)
from jaxscope.analysis.links.line_links import source_lines
from jaxscope.analysis.links.tallies import Bracket
from jaxscope.model import Compile, Program, Record, Timing, Value
from jaxscope.model.compile_log import Log

Columns = tuple[str, ...]
Rows = tuple[tuple[object, ...], ...]


_LINE_FIGURES: dict[str, Callable[[LineFigures], object]] = {
    "equations": lambda found: found.equations,
    "instructions": lambda found: found.instructions,
    "flops": lambda found: found.flops,
    "flops_low": lambda found: found.flops_bracket and found.flops_bracket.low,
    "flops_high": lambda found: found.flops_bracket and found.flops_bracket.high,
    "bytes": lambda found: found.bytes,
    "bytes_low": lambda found: found.bytes_bracket and found.bytes_bracket.low,
    "bytes_high": lambda found: found.bytes_bracket and found.bytes_bracket.high,
    "exact": lambda found: found.exact,
    # The backward part is zero where the total is known.
    "backward": lambda found: found.backward.equations,
    "backward_instructions": lambda found: (
        None if found.instructions is None else found.backward.instructions or 0
    ),
    "backward_flops": lambda found: None if found.flops is None else found.backward.flops or 0.0,
}


def lines(record: Record) -> tuple[Columns, Rows]:
    """One row per nonblank line of the sources, with its part of the costliest program.

    Instructions and FLOPs are None where the optimized HLO was not fetched or not parsed. `exact`
    is False where some instruction is a heuristic match. The low end of FLOPs and bytes is exact;
    the high end has all that may be of the line, such as the fusions that it shares. `backward` and
    the columns that start with it are the part of a line in backward passes.
    """
    columns = ("source", "line", "text", *_LINE_FIGURES)
    compiled = bool(record.programs) and compiled_program(record.programs[0]) is not None
    none = Bracket(0.0, 0.0)
    nothing = LineFigures(0, 0, 0.0, flops_bracket=none, bytes=0.0, bytes_bracket=none)
    nothing = nothing if compiled else LineFigures()
    rows: list[tuple[object, ...]] = []
    for index, source in enumerate(record.sources):
        known = figures(record.programs[0], index) if record.programs else {}
        for number, text in enumerate(source.lines, 1):
            if not text.strip():
                continue
            found = known.get(number, nothing)
            figures_of = [get(found) for get in _LINE_FIGURES.values()]
            rows.append((source.name, number, text, *figures_of))
    return columns, tuple(rows)


def ops(record: Record) -> tuple[Columns, Rows]:
    """One row per real instruction of the costliest program's optimized HLO.

    The figures are those of one execution; it executes `times` per run. A fusion has the work of
    the instructions in it: for totals, leave out the rows with a `fusion`. An unknown figure is
    None. `lines` are those of the cell, `exact` whether a tag confirms them. `phase` is that of its
    own equation, for a fusion that of its root; else it is empty.
    """
    columns = (
        "name", "opcode", "shape", "flops", "bytes_accessed", "transcendentals", "times", "fusion",
        "lines", "exact", "phase", "op_name",
    )  # fmt: skip
    program = record.programs[0] if record.programs else None
    compiled = None if program is None else compiled_program(program)
    if program is None or compiled is None:
        return columns, ()
    stage, module, cost = compiled
    costs = {row.name: row for row in (*cost.fused, *cost.by_instruction)}
    inside = module.callers("fusion")
    line_of = defining_lines(program)
    anchors = {anchor.line: anchor for anchor in stage.anchors}
    rows: list[tuple[object, ...]] = []
    for instruction in real_instructions(module):
        anchor = anchors.get(instruction.line)
        link = source_lines(program, stage, instruction.line)
        equations = anchor.equations if anchor is not None else ()
        own = tuple(sorted({line_of[i] for i in equations if i in line_of}))
        rows.append(
            (
                instruction.name,
                instruction.opcode,
                instruction.shape.text,
                *_figures_of(costs.get(instruction.name)),
                fusion.name if (fusion := inside.get(instruction.computation)) else "",
                own or link.lines,
                anchor is not None and anchor.exact,
                phase_of(program, anchor),
                instruction.op_name,
            )
        )
    return columns, tuple(rows)


_COMPILES: dict[str, Callable[[Compile], object]] = {
    "function": lambda made: made.fun_name,
    "kind": lambda made: str(made.kind),
    "file": lambda made: "" if made.site is None else made.site.file,
    "line": lambda made: None if made.site is None else made.site.span.line,
    "trace_s": lambda made: made.trace_s,
    "lower_s": lambda made: made.lower_s,
    "compile_s": lambda made: made.compile_s,
    "total_s": lambda made: made.total_s,
    "signature": lambda made: ", ".join(made.signature),
    "causes": lambda made: " ".join(cause.text for cause in made.causes),
    "persistent": lambda made: str(made.persistent),
}


def compiles(record: Record) -> tuple[Columns, Rows]:
    """One row per compilation of the run, in order; a stage with a cache hit took 0 s."""
    rows = [tuple([get(made) for get in _COMPILES.values()]) for made in record.compiles]
    return tuple(_COMPILES), tuple(rows)


_TIMINGS: dict[str, Callable[[Program, Timing], object]] = {
    "program": lambda program, timing: program.title,
    "label": lambda program, timing: timing.label,
    "device": lambda program, timing: timing.device,
    "median_s": lambda program, timing: _finite(timing.median_s),
    "low_s": lambda program, timing: _finite(timing.low_s),
    "high_s": lambda program, timing: _finite(timing.high_s),
    "samples": lambda program, timing: len(timing.samples),
    "inner": lambda program, timing: timing.inner,
    "note": lambda program, timing: timing.note,
}


def compile_log(log: Log) -> tuple[Columns, Rows]:
    """One row per compilation of a log, including failed ones, in the order they began."""
    storms = storm_of(log)
    columns: dict[str, Callable[[Compile], object]] = {
        "number": lambda one: one.serial,
        "function": _COMPILES["function"],
        "kind": _COMPILES["kind"],
        "cell": lambda one: one.cell,
        "place": lambda one: place(one, log),
        "line": lambda one: line_text(one, log),
        **{name: _COMPILES[name] for name in ("trace_s", "lower_s", "compile_s", "total_s")},
        "recompile": lambda one: one.is_recompile,
        "cause": lambda one: str(one.causes[0].kind) if one.causes else "",
        "why": _COMPILES["causes"],
        "fix": lambda one: " ".join(dict.fromkeys(c.fix for c in one.causes if c.fix)),
        "pattern": lambda one: storms[one.serial].pattern if one.serial in storms else "",
        "signature": _COMPILES["signature"],
        "persistent": _COMPILES["persistent"],
        "persistent_why": lambda one: one.persistent_why,
        "thread": lambda one: one.thread,
        "error": lambda one: one.error,
    }
    made = sorted((*log.compiles, *log.failed), key=lambda compile: compile.serial)
    return tuple(columns), tuple([tuple([get(one) for get in columns.values()]) for one in made])


def timings(record: Record) -> tuple[Columns, Rows]:
    """One row per measured time: its median in seconds per call, and its 95 % interval."""
    rows = [
        tuple([get(program, timing) for get in _TIMINGS.values()])
        for program in record.programs
        for timing in program.timings
    ]
    return tuple(_TIMINGS), tuple(rows)


_VALUES: dict[str, Callable[[Program, str, Value], object]] = {
    "program": lambda program, direction, value: program.title,
    "name": lambda program, direction, value: value.name,
    "direction": lambda program, direction, value: direction,
    "kind": lambda program, direction, value: str(value.kind),
    "aval": lambda program, direction, value: value.aval,
    "bytes": lambda program, direction, value: value.bytes,
    "sharding": lambda program, direction, value: value.sharding,
    "reason": lambda program, direction, value: value.reason,
}


def values(record: Record) -> tuple[Columns, Rows]:
    """One row per input, output and constant of each program, each a pytree leaf."""
    rows = [
        tuple([get(program, direction, value) for get in _VALUES.values()])
        for program in record.programs
        for direction, group in (
            ("input", program.inputs),
            ("output", program.outputs),
            ("constant", program.constants),
        )
        for value in group
    ]
    return tuple(_VALUES), tuple(rows)


def _figures_of(cost: InstructionCost | None) -> tuple[float | None, ...]:
    """FLOPs, bytes, transcendentals and executions; zero for an instruction without a row."""
    if cost is None:
        return 0.0, 0.0, 0.0, None
    return cost.flops, cost.bytes_accessed, cost.transcendentals, cost.times


def _finite(seconds: float) -> float | None:
    return None if math.isnan(seconds) else seconds


def collectives(record: Record) -> tuple[Columns, Rows]:
    """A row for each collective of each program; bytes are per device and execution.

    `line` is a line of the first source; None where it is unknown or in a different source.
    """
    columns = (
        "program", "kind", "line", "axes", "origin", "primitive", "operand_bytes", "result_bytes",
        "wire_bytes", "times", "sent_bytes", "groups", "value", "reason", "consumer", "exact",
        "instruction",
    )  # fmt: skip
    rows: list[tuple[object, ...]] = []
    for program in record.programs:
        known, home = program.sharding, defining_lines(program)
        if known is None:
            continue
        for one in known.collectives:
            groups = known.device_groups[one.device_groups]
            line = None if one.equation is None else home.get(one.equation)
            reason = "" if one.reason is None else str(one.reason)
            rows.append((
                program.title, str(one.kind), line, groups.axes, str(one.origin), one.primitive,
                one.operand_bytes, one.result_bytes, one.wire_bytes, one.times, one.sent,
                groups.groups, one.value, reason, one.consumer, one.exact, one.name,
            ))  # fmt: skip
    return columns, tuple(rows)
