"""A record as Markdown, for an issue, a pull request or a README."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jaxscope import words
from jaxscope.analysis.links.line_figures import LineFigures, differentiates, figures, stage_of
from jaxscope.model import Program, Record, Stage, StageKind
from jaxscope.view.base.chapter import Chapter
from jaxscope.view.base.markdown import escaped, pipes
from jaxscope.view.base.table import Table
from jaxscope.view.base.visible import split_lines, visible
from jaxscope.view.report import tables
from jaxscope.view.report.chapters import chapters, of_record
from jaxscope.view.report.summary import SEPARATOR, first_parts

_STAGE_LINES = 400
"""Lines of the optimized HLO; GitHub cuts an issue at 65 536 characters."""


def markdown(record: Record) -> str:
    """The report as GitHub Markdown: first line, findings, source, tables, optimized HLO."""
    return "\n".join(_parts(record)).rstrip() + "\n"


def _parts(record: Record) -> Iterator[str]:
    title, *others = first_parts(record)
    yield SEPARATOR.join((f"**{escaped(title)}**", *map(escaped, others)))
    for note in (*record.notes, tables.no_program(record)):
        if note:
            yield f"\n{escaped(note)}"
    if record.findings:
        yield "\n### Findings\n"
    for finding in record.findings:
        yield f"- **{escaped(tables.place(finding, record))}**: {escaped(finding.message)}"
        yield from (f"  {escaped(text)}" for text in (finding.fix, finding.evidence) if text)
    for chapter in of_record(record):
        yield from as_markdown(chapter)
    program = record.programs[0] if record.programs else None
    for index, source in enumerate(record.sources):
        found = figures(program, index) if program is not None else {}
        if index == 0 or found:
            yield f"\n### Source: {escaped(source.name)}\n"
            phases = program is not None and differentiates(program)
            yield from _source(split_lines(source.text), found, phases)
    for each in record.programs:
        for chapter in chapters(record, each):
            yield from as_markdown(chapter)
        yield from _program(each, several=len(record.programs) > 1)
    yield from _section("Compiles", tables.compiles(record.compiles, record))
    yield from _section("Environment", tables.environment(record))
    if program is not None:
        yield from _stage(stage_of(program, StageKind.OPTIMIZED_HLO))


def as_markdown(chapter: Chapter) -> Iterator[str]:
    """The chapter under a heading, its drawings as blocks of text."""
    yield f"\n### {escaped(chapter.title)}\n"
    yield from map(escaped, chapter.lead)
    for part in chapter.parts:
        if part.drawing:
            yield f"\n**{escaped(part.caption)}**\n"
            yield from _block("text", list(part.drawing))
        if part.table is not None:
            yield from _section(part.caption if not part.drawing else "", part.table, 4)


def _program(program: Program, several: bool) -> Iterator[str]:
    suffix = f" of {program.title}" if several else ""
    yield from _section(f"Inputs{suffix}", tables.values((*program.inputs, *program.constants)))
    yield from _section(f"Outputs{suffix}", tables.values(program.outputs))
    yield from _section(f"Time{suffix}", tables.timings(program.timings))
    yield from _section(f"Work{suffix}", tables.work(program))
    yield from _section(f"Memory{suffix}", tables.memory(program))


def _source(lines: list[str], found: dict[int, LineFigures], phases: bool) -> Iterator[str]:
    """The code as a block, each line behind its figures: a table would break the code."""
    gutter = len(str(len(lines)))
    text: list[str] = []
    width = 33 if phases else 21
    if phases and found:
        text.append(f"{'eqns':>5} {'bwd':>5} {'instr':>6} {'FLOP':>8} {'bwd':>5}")
    elif found:
        text.append(f"{'eqns':>5} {'instr':>6} {'FLOP':>8}")
    for number, line in enumerate(lines, 1):
        head = ""
        if found:
            row = found.get(number)
            head = f"{_figures(row, phases):>{width}}  " if row else " " * (width + 2)
        text.append(f"{head}{number:>{gutter}}  {visible(line)}".rstrip())
    yield from _block("text" if found else "python", text)


def _figures(row: LineFigures, phases: bool) -> str:
    mark = "" if row.exact else "≈"
    instructions = words.UNKNOWN if row.instructions is None else f"{mark}{row.instructions}"
    equations, flops = f"{row.equations:>5}", f"{mark + words.short(row.flops):>8}"
    if phases:
        equations += f" {row.backward.equations:>5}"
        flops += f" {words.percent(row.backward_share):>5}"
    return f"{equations} {instructions:>6} {flops}"


def _stage(stage: Stage | None) -> Iterator[str]:
    if stage is None:
        return
    label = StageKind.OPTIMIZED_HLO.label
    if stage.unavailable is not None:
        yield f"\nThere is no {label}: {escaped(stage.unavailable.reason)}."
        return
    lines = split_lines(stage.text)
    yield f"\n<details><summary>{label}, {words.count(len(lines), 'line')}</summary>\n"
    yield from _block("text", [visible(line[:2000]) for line in lines[:_STAGE_LINES]])
    if (rest := len(lines) - _STAGE_LINES) > 0:
        yield f"\n{words.count(rest, 'more line')} left out."
    yield "\n</details>"


def _block(language: str, lines: list[str]) -> Iterator[str]:
    """A fenced block whose fence is longer than any run of backticks inside."""
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    yield f"{fence}{language}"
    yield from lines
    yield fence


def _section(title: str, table: Table, level: int = 3) -> Iterator[str]:
    lines = list(pipes(table))
    if lines:
        yield f"\n{'#' * level} {escaped(title)}\n" if title else ""
    yield from lines
