"""Two records compared: sources, programs, findings and environments; the changes of a stage go by
the source line that they belong to."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import NamedTuple

from jaxscope.analysis.diff.figures import line_times, quantities
from jaxscope.analysis.diff.sources import SourcePairs, pair_sources
from jaxscope.analysis.diff.structure import compare_texts
from jaxscope.analysis.links.line_links import line_equations
from jaxscope.analysis.vmap.lines import place_of
from jaxscope.model import Finding, Program, Record, Stage, StageKind, Unavailable, Value
from jaxscope.model.report_diff import (
    ChangeKind,
    DiffRecord,
    LineChange,
    LineGroup,
    ProgramDiff,
    StageDiff,
    ValueChange,
)

_NOT_SAVED = Unavailable("this text was not saved with the report; run it again")


def compare(before: Record, after: Record) -> DiffRecord:
    """The differences of the later record; the texts of both should have been fetched."""
    sources = pair_sources(before.sources, after.sources)
    pairs, notes = pair_programs(before, after)
    gone, new = _findings(before, after, sources)
    return DiffRecord(
        before.title,
        after.title,
        before.created,
        sources=sources.diffs,
        programs=tuple(_program(before, old, after, new, sources) for old, new in pairs),
        findings_gone=gone,
        findings_new=new,
        environment=tuple(_environment(before, after)),
        notes=tuple(notes),
    )


def pair_programs(before: Record, after: Record) -> tuple[list[tuple[Program, Program]], list[str]]:
    """Programs of the same title, then of the same name, then the rest in order; with a note on
    each that has no counterpart."""
    notes = [
        f"The {which} report has no compiled program, so only sources and findings are compared."
        for which, record in (("earlier", before), ("later", after))
        if not record.programs
    ]
    if notes:
        return [], notes
    left, right = list(before.programs), list(after.programs)
    pairs: list[tuple[Program, Program]] = []
    criteria: tuple[Callable[[Program], Hashable], ...] = (
        lambda program: (program.title, *(value.aval for value in program.inputs)),
        lambda program: program.title,
        lambda program: program.name,
        lambda program: None,
    )
    for key in criteria:
        for old in tuple(left):
            new = next((program for program in right if key(program) == key(old)), None)
            if new is not None:
                pairs.append((old, new))
                left.remove(old)
                right.remove(new)
    order = {id(program): i for i, program in enumerate(after.programs)}
    pairs.sort(key=lambda pair: order[id(pair[1])])
    notes += [f"`{program.title}` is only in the earlier report." for program in left]
    notes += [f"`{program.title}` is only in the later report." for program in right]
    return pairs, notes


def _program(
    before: Record, old: Program, after: Record, new: Program, sources: SourcePairs
) -> ProgramDiff:
    def stage(program: Program, kind: StageKind) -> tuple[Program, Stage]:
        found = next((stage for stage in program.stages if stage.kind is kind), None)
        return program, found or Stage(kind, unavailable=_NOT_SAVED)

    kinds = [kind for kind in StageKind if not kind.on_request]
    stages = tuple(_compare_stages(stage(old, k), stage(new, k), sources) for k in kinds)
    compiled = any(one.kind is StageKind.OPTIMIZED_HLO and one.same for one in stages)
    same = compiled and not any(_environment(before, after))
    times, note = line_times(old, new, sources, same=same)
    return ProgramDiff(
        old.title,
        new.title,
        quantities(before, old, after, new, same=same),
        tuple(_values(old, new)),
        stages,
        line_times=times,
        notes=(note,) if note else (),
    )


def _values(old: Program, new: Program) -> Iterator[ValueChange]:
    for role, before, after in (
        ("input", old.inputs, new.inputs),
        ("constant", old.constants, new.constants),
        ("output", old.outputs, new.outputs),
    ):
        known = {value.name: _words(value) for value in before}
        later = {value.name: _words(value) for value in after}
        for name, text in later.items():
            if name in known and known[name] != text:
                yield ValueChange(role, name, ChangeKind.CHANGED, known[name], text)
        added = {name: text for name, text in later.items() if name not in known}
        removed = {name: text for name, text in known.items() if name not in later}
        if role == "output" and list(added.values()) == list(removed.values()):
            continue  # the names that their callers gave them
        for name, text in added.items():
            yield ValueChange(role, name, ChangeKind.ADDED, new=text)
        for name, text in removed.items():
            yield ValueChange(role, name, ChangeKind.REMOVED, text)


def _words(value: Value) -> str:
    return " ".join(part for part in (value.kind, value.aval, value.sharding) if part)


def _findings(
    before: Record, after: Record, sources: SourcePairs
) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """The findings of the earlier and of the later record only, matched by kind and line."""
    old: list[tuple[Hashable, Finding]] = []
    for one in before.findings:
        place = None if one.line is None else sources.later(one.source, one.line)
        old.append(((one.kind, place or (one.line and ("gone", one.line))), one))
    new = [((o.kind, o.line and (o.source, o.line)), o) for o in after.findings]
    return _without(old, new), _without(new, old)


def _without(
    found: Iterable[tuple[Hashable, Finding]], others: Iterable[tuple[Hashable, Finding]]
) -> tuple[Finding, ...]:
    """The findings without a counterpart of the same key, each counted once."""
    free = collections.Counter(key for key, _ in others)
    rest: list[Finding] = []
    for key, finding in found:
        if free[key]:
            free[key] -= 1
        else:
            rest.append(finding)
    return tuple(rest)


def _environment(before: Record, after: Record) -> Iterator[tuple[str, str, str]]:
    old_target, new_target = _target(before), _target(after)
    if old_target != new_target:
        yield "target", old_target, new_target
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


def _target(record: Record) -> str:
    """The target, and whether the program fits; that of an ordinary run is its device."""
    for program in record.programs:
        if program.target is not None:
            fits = program.target.fits
            return program.target.target + ("" if fits in (None, True) else ", does not fit")
        return ", ".join(program.devices[:1])
    return ""


def _setting(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value))  # type: ignore[reportUnknownArgumentType]
    return str(value)


_Place = tuple[int, int]
"""Source and line."""


def _compare_stages(
    before: tuple[Program, Stage], after: tuple[Program, Stage], sources: SourcePairs
) -> StageDiff:
    kind = after[1].kind
    missing = [
        f"the {which} report has no {kind.label}: {stage.unavailable.reason}"
        for which, (_, stage) in (("earlier", before), ("later", after))
        if stage.unavailable is not None
    ]
    if missing:
        return StageDiff(kind, unavailable=f"Not compared, because {', and '.join(missing)}.")
    compared = compare_texts(kind, before[1].text, after[1].text)
    return StageDiff(
        kind,
        _length(before[1]),
        _length(after[1]),
        _groups(compared.changes, before, after, sources),
        compared.moved,
        caveats=compared.caveats,
    )


def _length(stage: Stage) -> int:
    return stage.text.rstrip("\n").count("\n") + 1 if stage.text else 0


def _source_line(program: Program, stage: Stage, line: int | None) -> tuple[_Place | None, bool]:
    """The user's line behind a line of the stage, and whether the link is exact."""
    anchor = line_equations(stage, line) if line is not None else None
    if anchor is None or not anchor.equations or anchor.equations[0] >= len(program.equations):
        return None, True
    place = place_of(program.equations[anchor.equations[0]])
    return place, place is None or anchor.exact


class _Key(NamedTuple):
    """A line of the code: in the later report, in the earlier one, or in both."""

    later: _Place | None = None
    earlier: _Place | None = None

    def order(self) -> tuple[bool, int, int, bool]:
        """By line; a removed line at its former place, changes without a line last."""
        place = self.later or self.earlier
        source, line = place or (0, 0)
        return place is None, source, line, self.later is not None


def _groups(
    changes: list[LineChange],
    before: tuple[Program, Stage],
    after: tuple[Program, Stage],
    sources: SourcePairs,
) -> tuple[LineGroup, ...]:
    back = {
        (sources.partner[source], new): (source, old)
        for source, lines in sources.lines.items()
        for old, new in lines.items()
    }
    found: dict[_Key, list[LineChange]] = {}
    exact: dict[_Key, bool] = {}
    for change in changes:
        new, new_exact = _source_line(*after, change.after)
        old, old_exact = _source_line(*before, change.before)
        key = _Key()
        if new is not None:
            key = _Key(new, back.get(new))
        elif old is not None:
            key = _Key(sources.later(*old), old)
        found.setdefault(key, []).append(change)
        exact[key] = exact.get(key, True) and new_exact and old_exact
    return tuple(
        _group(key, found[key], exact[key], sources) for key in sorted(found, key=_Key.order)
    )


def _group(key: _Key, changes: list[LineChange], exact: bool, sources: SourcePairs) -> LineGroup:
    name = code = ""
    if key.later is not None:
        name, code = sources.after[key.later[0]].name, sources.code(*key.later)
    elif key.earlier is not None:
        name = sources.before[key.earlier[0]].name
        code = sources.code(*key.earlier, earlier=True)
    return LineGroup(
        name,
        key.earlier[1] if key.earlier else None,
        key.later[1] if key.later else None,
        code,
        tuple(changes),
        exact=exact,
    )
