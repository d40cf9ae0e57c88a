"""Two records compared: sources, programs, findings and surroundings."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Hashable, Iterator

from jaxscope.analysis.diff.figures import line_times, quantities
from jaxscope.analysis.diff.sources import Sources, pair_sources
from jaxscope.analysis.diff.stages import compare_stages
from jaxscope.model import Finding, Program, Record, Stage, StageKind, Unavailable, Value
from jaxscope.model.report_diff import Change, DiffRecord, ProgramDiff, StageDiff, ValueChange

_NOT_KEPT = Unavailable("this text was not saved with the report; run it again")


def compare(before: Record, after: Record) -> DiffRecord:
    """What is different in the later record; the texts of both should have been fetched."""
    sources = pair_sources(before.sources, after.sources)
    pairs, notes = pair_programs(before, after)
    gone, new = _findings(before, after, sources)
    return DiffRecord(
        before.title,
        after.title,
        before.created,
        after.created,
        sources.diffs,
        tuple(_program(before, old, after, new, sources) for old, new in pairs),
        gone,
        new,
        tuple(_surroundings(before, after)),
        tuple(notes),
    )


def pair_programs(before: Record, after: Record) -> tuple[list[tuple[Program, Program]], list[str]]:
    """Programs of the same title, then of the same name, then the rest in order; with sentences on
    those that have no partner."""
    notes = [
        f"The {which} report holds no compiled program, so only sources and findings are compared."
        for which, record in (("earlier", before), ("later", after))
        if not record.programs
    ]
    if notes:
        return [], notes
    left, right = list(before.programs), list(after.programs)
    pairs: list[tuple[Program, Program]] = []
    for same in (
        lambda a, b: (a.title, _shapes(a)) == (b.title, _shapes(b)),
        lambda a, b: a.title == b.title,
        lambda a, b: a.name == b.name,
        lambda a, b: True,
    ):
        for old in tuple(left):
            new = next((one for one in right if same(old, one)), None)
            if new is not None:
                pairs.append((old, new))
                left.remove(old)
                right.remove(new)
    order = {id(program): i for i, program in enumerate(after.programs)}
    pairs.sort(key=lambda pair: order[id(pair[1])])
    notes += [f"`{program.title}` is in the earlier report only." for program in left]
    notes += [f"`{program.title}` is in the later report only." for program in right]
    return pairs, notes


def _shapes(program: Program) -> tuple[str, ...]:
    return tuple(value.aval for value in program.inputs)


def _program(
    before: Record, old: Program, after: Record, new: Program, sources: Sources
) -> ProgramDiff:
    times, note = line_times(old, new, sources)
    stages = tuple(_stage(old, new, kind, sources) for kind in StageKind)
    return ProgramDiff(
        old.title,
        new.title,
        quantities(before, old, after, new),
        tuple(_values(old, new)),
        stages,
        times,
        (note,) if note else (),
    )


def _stage(old: Program, new: Program, kind: StageKind, sources: Sources) -> StageDiff:
    def of(program: Program) -> Stage:
        found = next((stage for stage in program.stages if stage.kind is kind), None)
        return found or Stage(kind, unavailable=_NOT_KEPT)

    return compare_stages((old, of(old)), (new, of(new)), sources)


def _values(old: Program, new: Program) -> Iterator[ValueChange]:
    for role, before, after in (
        ("input", old.inputs, new.inputs),
        ("constant", old.constants, new.constants),
        ("output", old.outputs, new.outputs),
    ):
        known = {value.name: value for value in before}
        later = {value.name: value for value in after}
        for name, value in later.items():
            if name not in known:
                yield ValueChange(role, name, Change.ADDED, new=_words(value))
            elif _words(known[name]) != _words(value):
                yield ValueChange(role, name, Change.CHANGED, _words(known[name]), _words(value))
        for name, value in known.items():
            if name not in later:
                yield ValueChange(role, name, Change.REMOVED, _words(value))


def _words(value: Value) -> str:
    return " ".join(part for part in (value.kind, value.aval, value.sharding) if part)


def _findings(
    before: Record, after: Record, sources: Sources
) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """What is gone and what is new: a finding is the same where its kind and line are."""

    def earlier(finding: Finding) -> Hashable:
        place = None
        if finding.line is not None:
            place = sources.later(finding.source, finding.line) or ("gone", finding.line)
        return finding.kind, place

    def later(finding: Finding) -> Hashable:
        place = (finding.source, finding.line) if finding.line is not None else None
        return finding.kind, place

    here = collections.Counter(later(finding) for finding in after.findings)
    gone: list[Finding] = []
    for finding in before.findings:
        if here[earlier(finding)]:
            here[earlier(finding)] -= 1
        else:
            gone.append(finding)
    known = collections.Counter(earlier(finding) for finding in before.findings)
    new: list[Finding] = []
    for finding in after.findings:
        if known[later(finding)]:
            known[later(finding)] -= 1
        else:
            new.append(finding)
    return tuple(gone), tuple(new)


def _surroundings(before: Record, after: Record) -> Iterator[tuple[str, str, str]]:
    for field in dataclasses.fields(before.environment):
        old, new = getattr(before.environment, field.name), getattr(after.environment, field.name)
        if field.name != "flags":
            if old != new:
                yield field.name, _setting(old), _setting(new)
            continue
        flags, others = dict(old), dict(new)
        for name in sorted(flags.keys() | others.keys()):
            if flags.get(name) != others.get(name):
                yield name, flags.get(name, "not set"), others.get(name, "not set")


def _setting(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value))  # type: ignore[reportUnknownArgumentType]
    return str(value)
