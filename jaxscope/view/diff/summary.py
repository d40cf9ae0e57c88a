"""The first line of a comparison: is it faster, does it do other work, what became of the code."""

from __future__ import annotations

from collections.abc import Iterator

from jaxscope.model import StageKind
from jaxscope.model.diff import DiffRecord, ProgramDiff, Quantity, StageDiff
from jaxscope.view import units
from jaxscope.view.diff import words
from jaxscope.view.summary import SEPARATOR


def first_line(record: DiffRecord) -> str:
    """One line in the order in which people ask."""
    return SEPARATOR.join(first_parts(record))


def first_parts(record: DiffRecord) -> tuple[str, ...]:
    """The first line in its parts, the title first."""
    if not record.programs:
        title = _arrow(record.before, record.after)
        return (title, "no program to compare", *_rest(record))
    program = record.programs[0]
    return (
        _arrow(program.before, program.after),
        *_time(program),
        *_work(program),
        *_structure(program),
        *_rest(record),
    )


def _arrow(before: str, after: str) -> str:
    return before if before == after else f"{before} → {after}"


def _named(program: ProgramDiff, name: str) -> Quantity | None:
    return next((q for q in program.quantities if q.name == name), None)


def _time(program: ProgramDiff) -> Iterator[str]:
    time = _named(program, "time of a call")
    if time is None:
        yield "not run"
    elif time.before is None or time.after is None:
        which = "earlier" if time.before is None else "later"
        yield f"{units.seconds(time.after or time.before)} a call, the {which} was not run"
    else:
        yield (
            f"{units.seconds(time.before)} → {units.seconds(time.after)} a call "
            f"({words.change(time)}), {words.verdict(time)}"
        )


def _work(program: ProgramDiff) -> Iterator[str]:
    for name, label in (("operations", ""), ("bytes moved", ""), ("peak memory", "peak memory ")):
        found = _named(program, name)
        if found is None or found.before is None or found.after is None:
            continue
        if found.before != found.after:
            before, after = (words.figure(found, v) for v in (found.before, found.after))
            moved = " moved" if name == "bytes moved" else ""
            extra = words.change(found)
            yield f"{label}{before} → {after}{moved}{f' ({extra})' if extra else ''}"


def _structure(program: ProgramDiff) -> Iterator[str]:
    compared = [stage for stage in program.stages if not stage.unavailable]
    last = compared[-1] if compared else None
    if last is None:
        yield "no texts to compare"
    elif all(stage.same for stage in compared) and len(compared) == len(program.stages):
        yield "the same program"
    else:
        yield f"{last.kind.label}: {_lines(last)}"


def _lines(stage: StageDiff) -> str:
    if stage.same:
        return "the same"
    total = sum(len(group.changes) for group in stage.groups)
    return f"{words.counts(stage)} {'line' if total == 1 else 'lines'}"


def _rest(record: DiffRecord) -> Iterator[str]:
    for found, word in ((record.findings_gone, "gone"), (record.findings_new, "new")):
        if found:
            yield f"{units.count(len(found), 'finding')} {word}"
    if len(record.programs) > 1:
        yield f"+{units.count(len(record.programs) - 1, 'more program')}"


def shown_stage(program: ProgramDiff) -> StageKind | None:
    """The stage that a short view shows: the last one that differs."""
    found = [stage.kind for stage in program.stages if stage.groups]
    return found[-1] if found else None
