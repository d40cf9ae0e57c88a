"""A record as text, for terminals and logs."""

from __future__ import annotations

import collections
import dataclasses
import shutil
from collections.abc import Iterator

from jaxscope import words
from jaxscope.analysis.links.line_figures import LineFigures, differentiates, figures, stage_of
from jaxscope.model import Compile, Program, Record, Source, Stage, StageKind
from jaxscope.view.base.table import Table
from jaxscope.view.base.terminal import Terminal
from jaxscope.view.base.visible import columns, fitted, split_lines, visible
from jaxscope.view.report import tables
from jaxscope.view.report.chapters import as_text, chapters, of_record
from jaxscope.view.report.line_matches import shown_lines
from jaxscope.view.report.summary import first_line

_SCREEN_LINES = 32
"""Source lines shown by default: with findings and inputs a report stays within one screen."""

_STAGE_LINES = 400
"""Lines of each stage shown by `full`; a terminal is no place to read more."""

_BAR = 8
_COUNTS = 24
_BACKWARD = 12
"""More cells, for what of a line's equations and FLOPs the backward pass does."""
_NARROW, _WIDE = 72, 80


_MOST_INPUTS = 12
"""Rows of inputs in the short report: a model of many layers has hundreds of leaves."""


def text(
    record: Record, width: int | None = None, color: bool = False, *, full: bool = False
) -> str:
    """The report as lines of text, none wider than `width` cells (default: the terminal's).

    Short by default: first line, findings, the source with its figures, inputs. `full` adds
    outputs, timings, compiles, memory, environment and the stages. ANSI colors only if `color`.
    """
    cells = width or shutil.get_terminal_size((100, 24)).columns
    terminal = Terminal(max(40, cells), color)
    return "\n".join(line.rstrip() for line in _report(record, terminal, full)) + "\n"


def _report(record: Record, terminal: Terminal, full: bool) -> Iterator[str]:
    yield from terminal.wrap(first_line(record), "", "bold")
    for note in (*record.notes, tables.no_program(record)):
        if note:
            yield from terminal.wrap(note, "  ", "dim")
    yield from _findings(record, terminal)
    for chapter in of_record(record):
        yield from as_text(chapter, terminal, full)
    program = record.programs[0] if record.programs else None
    sources = record.sources if full else record.sources[:1]
    for index, source in enumerate(sources):
        if index or record.profile is None:  # a profile has shown the cell already
            yield from _source(source, index, record, terminal, full)
    if program is not None:
        yield from _program(program, record, terminal, full)
    if not full and len(record.programs) > 1:
        number = collections.Counter(other.title for other in record.programs[1:])
        names = ", ".join(f"{t} × {n}" if n > 1 else t for t, n in number.items())
        yield ""
        yield from terminal.wrap(f"Also compiled: {names}", "", "cyan")
    if full:
        for other in record.programs[1:]:
            yield from terminal.heading(f"Also compiled: {other.title}")
            yield from _program(other, record, terminal, full)
        yield from _compiles(record.compiles, record, terminal)
        yield from terminal.heading("Environment")
        yield from terminal.table(tables.environment(record))


def _findings(record: Record, terminal: Terminal) -> Iterator[str]:
    if record.findings:
        yield from terminal.heading("Findings")
    for finding in record.findings:
        mark = f"  {visible(tables.place(finding, record)):<8}  "
        hang = " " * columns(mark)
        yield from terminal.wrap(finding.message, mark, "yellow")
        yield from terminal.wrap(finding.fix, f"{hang}→ ") if finding.fix else ()
        yield from terminal.wrap(finding.evidence, f"{hang}  ", "dim") if finding.evidence else ()


def _program(program: Program, record: Record, terminal: Terminal, full: bool) -> Iterator[str]:
    for chapter in chapters(record, program):
        yield from as_text(chapter, terminal, full)
    inputs = (*program.inputs, *program.constants)
    if inputs:
        table = tables.values(inputs)
        # The place matters where there are several devices, and in the full report.
        shown = table if full or len(program.devices) > 1 else _without(table, 4)
        more = 0 if full else len(shown.rows) - _MOST_INPUTS
        if more > 0:
            shown = dataclasses.replace(shown, rows=shown.rows[:_MOST_INPUTS])
        yield from terminal.heading("Inputs")
        yield from terminal.table(shown)
        if more > 0:
            text = f"  and {more} more; `report.inputs` has them all."
            yield terminal.paint(text, "dim")
    if not full:
        return
    for title, table in (
        ("Outputs", tables.values(program.outputs)),
        ("Time", tables.timings(program.timings)),
        ("Work", tables.work(program)),
        ("Memory", tables.memory(program)),
    ):
        if table.rows:
            yield from terminal.heading(title)
            yield from terminal.table(table)
    for kind in StageKind:
        yield from _stage(kind, stage_of(program, kind), terminal)


def _without(table: Table, column: int) -> Table:
    blanked = tuple((*row[:column], "", *row[column + 1 :]) for row in table.rows)
    return dataclasses.replace(table, rows=blanked)


def _source(
    source: Source, index: int, record: Record, terminal: Terminal, full: bool
) -> Iterator[str]:
    lines = split_lines(source.text)
    found = figures(record.programs[0], index) if record.programs else {}
    marked = {f.line for f in record.findings if f.source == index and f.line is not None}
    total = sum(row.flops or 0 for row in found.values())
    gutter = len(str(len(lines)))
    # A narrow terminal keeps the code and gives up the bar, then the counts.
    counts = bool(found) and terminal.width >= _NARROW
    bar = counts and total > 0 and terminal.width >= _WIDE
    phases = counts and terminal.width >= _WIDE and differentiates(record.programs[0])
    taken = (_COUNTS if counts else 0) + (_BACKWARD if phases else 0) + (_BAR + 1 if bar else 0)
    room = terminal.width - gutter - 5 - taken
    most = len(lines) if full else _SCREEN_LINES
    numbers = shown_lines(len(lines), found, marked, most)
    codes = {n: visible(lines[n - 1][: terminal.width * 4]) for n in numbers}
    room = min(room, max((columns(code) for code in codes.values()), default=0) + 1)
    room = max(room, columns(source.name) + 8 - gutter - 5, 24)
    title = fitted(f"Source: {visible(source.name)}", room + gutter + 5)
    space = " " * (room + gutter + 5 - columns(title))
    head = f"{'eqns':>6} {'instr':>7} {'FLOP':>9}" if counts else ""
    if phases:
        head = f"{'eqns':>6} {'bwd':>5} {'instr':>7} {'FLOP':>9} {'bwd':>5}"
    yield ""
    yield terminal.paint(title, "cyan") + space + terminal.paint(head, "dim")
    if not lines:
        yield terminal.paint("  The source is empty.", "dim")
    previous = 0
    for number, code in codes.items():
        yield from _gap(number - previous - 1, gutter, terminal)
        flag = terminal.paint("!", "yellow") if number in marked else " "
        row = f"{flag} {terminal.paint(f'{number:>{gutter}}', 'dim')} │ {fitted(code, room)}"
        if counts:
            row += " " * (room - columns(fitted(code, room))) + _counts(
                found.get(number), phases, terminal
            )
        if bar:
            row += " " + terminal.paint(_bar(found.get(number), total), "green")
        yield row
        previous = number
    yield from _gap(len(lines) - previous, gutter, terminal)


def _gap(number: int, gutter: int, terminal: Terminal) -> Iterator[str]:
    if number > 0:
        yield terminal.paint(f"  {' ' * gutter} ⋮ {words.count(number, 'line')} not shown", "dim")


def _counts(row: LineFigures | None, phases: bool, terminal: Terminal) -> str:
    dash = words.UNKNOWN
    if row is None:
        between = f" {dash:>5}" if phases else ""
        return terminal.paint(f"{dash:>6}{between} {dash:>7} {dash:>9}{between}", "dim")
    instructions = dash if row.instructions is None else str(row.instructions)
    mark = "" if row.exact else "≈"
    equations, flops = f"{row.equations:>6}", f"{mark + words.short(row.flops):>9}"
    if phases:
        equations += f" {row.backward.equations:>5}"
        flops += f" {words.percent(row.backward_share):>5}"
    return f"{equations} {mark + instructions:>7} {flops}"


def _bar(row: LineFigures | None, total: float) -> str:
    share = (row.flops or 0) / total if row is not None else 0.0
    eighths = max(round(share * _BAR * 8), 1 if share > 0 else 0)
    whole, part = divmod(eighths, 8)
    return "█" * whole + (" ▏▎▍▌▋▊▉"[part] if part else "")


def _compiles(compiles: tuple[Compile, ...], record: Record, terminal: Terminal) -> Iterator[str]:
    if not compiles:
        return
    yield from terminal.heading("Compiles of this run")
    yield from terminal.table(tables.compiles(compiles, record))
    for compile in compiles:
        for cause in compile.causes:
            text = f"{compile.fun_name}: {cause.text} {cause.fix}".rstrip()
            yield from terminal.wrap(text, "  ", "dim")
        if compile.persistent_why:
            text = f"{compile.fun_name}: {compile.persistent_why}"
            yield from terminal.wrap(text, "  ", "dim")


def _stage(kind: StageKind, stage: Stage | None, terminal: Terminal) -> Iterator[str]:
    lines = split_lines(stage.text) if stage is not None else []
    yield from terminal.heading(
        f"{kind.label}, {words.count(len(lines), 'line')}" if lines else kind.label
    )
    more = f'`report.stage("{kind}").text`'
    if stage is None:
        yield from terminal.wrap(f"This text was not fetched; {more} gives it.", "  ", "dim")
    elif stage.unavailable is not None:
        yield from terminal.wrap(f"There is no text: {stage.unavailable.reason}.", "  ", "dim")
    gutter = len(str(len(lines)))
    for number, line in enumerate(lines[:_STAGE_LINES], 1):
        code = fitted(visible(line[: terminal.width * 4]), terminal.width - gutter - 3)
        yield f"{terminal.paint(f'{number:>{gutter}}', 'dim')} │ {code}"
    if (rest := len(lines) - _STAGE_LINES) > 0:
        yield from terminal.wrap(
            f"{words.count(rest, 'more line')}; {more} gives all.", "  ", "dim"
        )
