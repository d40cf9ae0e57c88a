"""A report as tables: column names and rows of plain values, for data frames and other tools."""

from __future__ import annotations

import math

from jaxscope.analysis.cost import InstructionCost
from jaxscope.analysis.hlo import HloModule, real_instructions
from jaxscope.analysis.links.line_figures import (
    LineFigures,
    counted,
    figures,
    homes,
    phase_of,
    stage_of,
)
from jaxscope.analysis.links.links import source_lines
from jaxscope.model import Program, Record, StageKind

Columns = tuple[str, ...]
Rows = tuple[tuple[object, ...], ...]


def lines(record: Record) -> tuple[Columns, Rows]:
    """A row for each line of the sources that has text, with its share of the costliest program.

    Instructions and FLOPs are None where the optimized HLO was not fetched or not understood.
    `exact` is False where some instruction was matched by likeness. `backward` and the columns that
    begin with it are the part of a line that a backward pass does.
    """
    columns = (
        "source",
        "line",
        "text",
        "equations",
        "instructions",
        "flops",
        "exact",
        "backward",
        "backward_instructions",
        "backward_flops",
    )
    rows: list[tuple[object, ...]] = []
    for index, source in enumerate(record.sources):
        known = figures(record.programs[0], index) if record.programs else {}
        nothing = _nothing(record.programs[0]) if record.programs else _UNKNOWN
        for number, text in enumerate(source.lines, 1):
            if not text.strip():
                continue
            found = known.get(number)
            numbers = (
                nothing
                if found is None
                else (
                    found.equations,
                    found.instructions,
                    found.flops,
                    found.exact,
                    *_backward(found),
                )
            )
            rows.append((source.name, number, text, *numbers))
    return columns, tuple(rows)


def operations(record: Record) -> tuple[Columns, Rows]:
    """A row for each real instruction of the costliest program's optimized HLO.

    The figures are those of one execution; it is executed `times` in a run. A fusion has the work
    of what it holds: for totals, leave out the rows whose `fusion` names one. A figure is None
    where nobody knows it. `lines` are those of the cell, `exact` whether a tag led to them. `phase`
    is that of its own equation, for a fusion the one whose result it gives; else it is empty.
    """
    columns = (
        "name",
        "opcode",
        "shape",
        "flops",
        "bytes_accessed",
        "transcendentals",
        "times",
        "fusion",
        "lines",
        "exact",
        "phase",
        "op_name",
    )
    program = record.programs[0] if record.programs else None
    stage = None if program is None else stage_of(program, StageKind.OPTIMIZED_HLO)
    known = None if stage is None else counted(stage.text)
    if program is None or stage is None or known is None:
        return columns, ()
    module, cost = known
    costs = {row.name: row for row in (*cost.fused, *cost.by_instruction)}
    inside = _fusions(module)
    home = homes(program)
    anchors = {anchor.line: anchor for anchor in stage.anchors}
    rows: list[tuple[object, ...]] = []
    for instruction in real_instructions(module):
        anchor = anchors.get(instruction.line)
        link = source_lines(program, stage, instruction.line)
        own = tuple(
            sorted({home[i] for i in (anchor.equations if anchor is not None else ()) if i in home})
        )
        rows.append(
            (
                instruction.name,
                instruction.opcode,
                instruction.shape.text,
                *_figures_of(costs.get(instruction.name)),
                inside.get(instruction.computation, ""),
                own or link.lines,
                anchor is not None and anchor.exact,
                phase_of(program, anchor),
                instruction.op_name,
            )
        )
    return columns, tuple(rows)


def compiles(record: Record) -> tuple[Columns, Rows]:
    """A row for each compilation of the run, in order; a stage that was a cache hit took 0 s."""
    columns = (
        "function",
        "kind",
        "file",
        "line",
        "trace_s",
        "lower_s",
        "compile_s",
        "total_s",
        "signature",
        "causes",
        "persistent",
    )
    return columns, tuple(
        [
            (
                made.fun_name,
                str(made.kind),
                "" if made.site is None else made.site.file,
                None if made.site is None else made.site.span.line,
                made.trace_s,
                made.lower_s,
                made.compile_s,
                made.total_s,
                ", ".join(made.signature),
                " ".join(cause.text for cause in made.causes),
                str(made.persistent),
            )
            for made in record.compiles
        ]
    )


def timings(record: Record) -> tuple[Columns, Rows]:
    """A row for each measured time: its median, seconds a call, and its 95 % interval."""
    columns = (
        "program",
        "label",
        "device",
        "median_s",
        "low_s",
        "high_s",
        "samples",
        "inner",
        "note",
    )
    return columns, tuple(
        [
            (
                program.title,
                timing.label,
                timing.device,
                _finite(timing.median_s),
                _finite(timing.low_s),
                _finite(timing.high_s),
                len(timing.samples),
                timing.inner,
                timing.note,
            )
            for program in record.programs
            for timing in program.timings
        ]
    )


def values(record: Record) -> tuple[Columns, Rows]:
    """A row for each input, output and constant of each program, one a pytree leaf."""
    columns = (
        "program",
        "name",
        "direction",
        "kind",
        "aval",
        "bytes",
        "sharding",
        "reason",
    )
    return columns, tuple(
        [
            (
                program.title,
                value.name,
                direction,
                str(value.kind),
                value.aval,
                value.bytes,
                value.sharding,
                value.reason,
            )
            for program in record.programs
            for direction, group in (
                ("input", program.inputs),
                ("output", program.outputs),
                ("constant", program.constants),
            )
            for value in group
        ]
    )


_UNKNOWN = (0, None, None, True, 0, None, None)


def _nothing(program: Program) -> tuple[object, ...]:
    """The figures of a line that no equation and no instruction came from."""
    stage = stage_of(program, StageKind.OPTIMIZED_HLO)
    if stage is None or counted(stage.text) is None:
        return _UNKNOWN
    return 0, 0, 0.0, True, 0, 0, 0.0


def _backward(found: LineFigures) -> tuple[object, ...]:
    """The backward part; nothing of what is known counts as none of it."""
    share = found.backward
    instructions = None if found.instructions is None else share.instructions or 0
    flops = None if found.flops is None else share.flops or 0.0
    return share.equations, instructions, flops


def _fusions(module: HloModule) -> dict[str, str]:
    """Computation → the fusion instruction that runs it, or that runs what it is part of."""
    return {
        name: instruction.name
        for computation in module.computations
        for instruction in computation.instructions
        if instruction.opcode == "fusion"
        for name in instruction.called
    }


def _figures_of(cost: InstructionCost | None) -> tuple[float | None, ...]:
    """FLOPs, bytes, transcendentals and times; an instruction without a row costs nothing."""
    if cost is None:
        return 0.0, 0.0, 0.0, None
    return cost.flops, cost.bytes_accessed, cost.transcendentals, cost.times


def _finite(seconds: float) -> float | None:
    return None if math.isnan(seconds) else seconds
