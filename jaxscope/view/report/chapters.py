"""The chapters of a report: those that every program has, and those that only some have.

A program that differentiates has residuals, a batched one batched equations, one on several devices
shardings. Each is a function `(record, program) -> Chapter | None`; every view shows whatever
chapters there are without knowing which.
"""

from __future__ import annotations

from collections.abc import Callable

from jaxscope import words
from jaxscope.model import Compile, CompileKind, Memory, Program, Record, Timing, Unavailable
from jaxscope.model.profile import Profile
from jaxscope.view.base import svg
from jaxscope.view.base.bars import shares
from jaxscope.view.base.document import Advice, Chapter, Part
from jaxscope.view.base.figure import Figure, FigureAxis, FigureSeries, SeriesForm
from jaxscope.view.base.html import NOTHING
from jaxscope.view.base.places import label
from jaxscope.view.chapters import gradient, memory, sharding, target, vmap
from jaxscope.view.chapters.compile_time import chapter as time_by_line
from jaxscope.view.profile.cell import chapter as profile_of_cell
from jaxscope.view.profile.chapter import chapter as profile
from jaxscope.view.report import tables

ChapterWriter = Callable[[Record, Program], Chapter | None]


def time(record: Record, program: Program) -> Chapter:
    """Timings with their intervals, and every sample as a dot."""
    lead = "The program was not run, so there are no timings."
    if isinstance(program.profile, Profile):
        lead = "The program was not timed separately; the profile has the time of its calls."
    parts = [Part("", tables.timings(program.timings))]
    for timing in program.timings:
        caption = f"{timing.label}, one dot per round"
        parts.append(Part("", picture=svg.figure(samples(timing), caption)))
    return Chapter("time", "Timing", () if program.timings else (lead,), tuple(parts))


def samples(timing: Timing) -> Figure:
    """The samples of a timing, with the 95 % interval of its median."""
    several = len(timing.samples) > 1
    low, high = min(timing.samples, default=0.0), max(timing.samples, default=0.0)
    alternative = (
        f"{words.count(len(timing.samples), 'round')} from {words.seconds(low)} to "
        f"{words.seconds(high)}, median {words.seconds(timing.median_s)}"
    )
    rows = (0.0,) * len(timing.samples)
    low_s, high_s = (timing.low_s,), (timing.high_s,)
    series = FigureSeries("", timing.samples, rows, SeriesForm.STRIP, low=low_s, high=high_s)
    x, y = (
        FigureAxis("", words.seconds, ticks=(low, high, timing.median_s)),
        FigureAxis(names=("",)),
    )
    return Figure(alternative, x, y, (series,) * several, width=640, height=80)


def work(record: Record, program: Program) -> Chapter:
    """FLOPs, traffic, the roofline, and bytes on the device."""
    found = program.memory
    bar = NOTHING
    if isinstance(found, Memory):  # in the order of the table
        new = max(found.output - found.alias, 0)
        parts = (("arguments", found.argument), ("outputs", new), ("temporaries", found.temp))
        bar = shares(parts, words.size)
    parts = (Part("", tables.work(program)), Part("Memory", tables.memory(program), bar))
    return Chapter("work", "Work and memory", (), parts)


def values(record: Record, program: Program) -> Chapter:
    """Inputs, constants and outputs with kind and reason."""
    named = {"Inputs": program.inputs, "Constants": program.constants, "Outputs": program.outputs}
    parts = tuple(Part(name, tables.values(values)) for name, values in named.items() if values)
    lead = () if parts else ("The program has no inputs and no outputs.",)
    return Chapter("values", "Inputs and outputs", lead, parts)


PROFILE: tuple[ChapterWriter, ...] = (profile,)
"""The chapter of a profiled program."""
OWN: tuple[ChapterWriter, ...] = (gradient.chapter, vmap.chapter, sharding.chapter)
"""The chapters that only some programs have."""
USUAL: tuple[Callable[[Record, Program], Chapter], ...] = (values, work, time)
"""The chapters of every program."""
DETAILS: tuple[ChapterWriter, ...] = (memory.chapter, values, work, time)
"""The chapters to look something up in."""
PROGRAM: tuple[ChapterWriter, ...] = (target.chapter, *PROFILE, *OWN, memory.chapter)
"""The chapters that only some programs have, in the order of the report."""


def chapters(
    record: Record, program: Program, writers: tuple[ChapterWriter, ...] | None = None
) -> tuple[Chapter, ...]:
    """The chapters that this program has."""
    written = (write(record, program) for write in (PROGRAM if writers is None else writers))
    return tuple(chapter for chapter in written if chapter is not None)


def of_record(record: Record) -> tuple[Chapter, ...]:
    """The chapters that a whole run has, whichever programs it ran."""
    chapter = profile_of_cell(record)
    return () if chapter is None else (chapter,)


def findings(record: Record) -> Part:
    """The findings as advice, in order; where one repeats the last, what is its own."""
    found: list[Advice] = []
    last = ("", "", "")
    for finding in record.findings:
        place = None if finding.line is None else (finding.source, finding.line)
        where = label(record, place, "line ") or "program"
        advice = (finding.message, finding.fix, finding.evidence)
        if advice[:2] == last[:2]:
            own = finding.evidence if finding.evidence != last[2] else ""
            found.append(Advice(where, own or "The same.", place=place))
        else:
            found.append(Advice(where, *advice, place))
        last = advice
    return Part("", advice=tuple(found), brief=True)


def compiles(record: Record, most: int = 1000) -> Chapter:
    """Every compilation, with its cause and fix."""
    lead = () if record.compiles else ("Nothing was compiled in this run: 0 compiles.",)
    functions = tuple([c for c in record.compiles if c.kind is not CompileKind.EAGER])
    if operations := [c for c in record.compiles if c.kind is CompileKind.EAGER]:
        count = words.count(len(operations), "compilation")
        lead = (f"Eager operations: {count}, {words.seconds(sum(c.total_s for c in operations))}.",)
    parts = [Part("", tables.compiles(functions, record))] if functions or not lead else []
    parts += map(_compile, functions[:most])
    return Chapter("compiles", "Compilations", lead, tuple(parts))


def _compile(compile: Compile) -> Part:
    signature = ", ".join(compile.signature)
    named = f"{compile.fun_name}({signature})" if signature else compile.fun_name
    stages = (("trace", compile.trace_s), ("lower", compile.lower_s), ("XLA", compile.compile_s))
    advice: list[Advice] = []
    for cause in compile.causes:
        said = f"{cause.before} → {cause.after}" in cause.text
        change = f" `{cause.before}` → `{cause.after}`." if cause.before != cause.after else ""
        advice.append(Advice("", cause.text if said else f"{cause.text}{change}", cause.fix))
    advice += [Advice("", compile.persistent_why)] if compile.persistent_why else []
    return Part(named, picture=shares(stages, words.seconds), advice=tuple(advice))


def compile_time(record: Record) -> tuple[Chapter, ...]:
    """Compile time by line, where it was requested."""
    found = record.compile_time
    if found is None:
        return ()
    if isinstance(found, Unavailable):
        lead = f"There is no compile time by line: {found.reason}."
        return (Chapter("compile_time", "Compile time by line", (lead,)),)
    return (time_by_line(found),)


def environment(record: Record) -> Chapter:
    """Versions and settings."""
    return Chapter("environment", "Environment", (), (Part("", tables.environment(record)),))
