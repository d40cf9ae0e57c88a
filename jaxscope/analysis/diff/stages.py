"""The changes of a stage, grouped by the line of the code that they belong to."""

from __future__ import annotations

from dataclasses import dataclass

from jaxscope.analysis.diff.sources import Sources
from jaxscope.analysis.diff.structure import compare_texts
from jaxscope.analysis.links.links import line_equations
from jaxscope.model import Program, Stage
from jaxscope.model.report_diff import LineChange, LineGroup, StageDiff


@dataclass(frozen=True, slots=True)
class Place:
    """A line of one report's sources."""

    source: int
    line: int
    exact: bool


def compare_stages(
    before: tuple[Program, Stage], after: tuple[Program, Stage], sources: Sources
) -> StageDiff:
    """What is different between two programs at one level."""
    kind = after[1].kind
    missing = [
        f"the {which} report has no {kind.label}: {stage.unavailable.reason}"
        for which, (_, stage) in (("earlier", before), ("later", after))
        if stage.unavailable is not None
    ]
    if missing:
        return StageDiff(kind, unavailable=f"Not compared, for {', and '.join(missing)}.")
    compared = compare_texts(kind, before[1].text, after[1].text)
    return StageDiff(
        kind,
        _length(before[1]),
        _length(after[1]),
        _groups(compared.changes, before, after, sources),
        compared.moved,
        doubts=compared.doubts,
    )


def _length(stage: Stage) -> int:
    return stage.text.rstrip("\n").count("\n") + 1 if stage.text else 0


def place_of(program: Program, stage: Stage, line: int | None) -> Place | None:
    """The line of the user's code behind a line of the stage: in the cell if a frame lies there."""
    anchor = line_equations(stage, line) if line is not None else None
    if anchor is None or not anchor.equations or anchor.equations[0] >= len(program.equations):
        return None
    frames = program.equations[anchor.equations[0]].frames
    known = [frame for frame in frames if frame.source is not None]
    frame = next((f for f in known if f.source == 0), known[0] if known else None)
    if frame is None or frame.source is None:
        return None
    return Place(frame.source, frame.span.line, anchor.exact)


@dataclass(frozen=True, slots=True)
class _Key:
    """Where a group stands: in the later report, or in the earlier one where the line is gone."""

    later: tuple[int, int] | None
    earlier: tuple[int, int] | None


def _groups(
    changes: list[LineChange],
    before: tuple[Program, Stage],
    after: tuple[Program, Stage],
    sources: Sources,
) -> tuple[LineGroup, ...]:
    back = {
        (sources.partner[source], new): (source, old)
        for source, lines in sources.lines.items()
        for old, new in lines.items()
    }
    found: dict[_Key, list[LineChange]] = {}
    exact: dict[_Key, bool] = {}
    for change in changes:
        new = place_of(*after, change.after)
        old = place_of(*before, change.before)
        key = _Key(None, None)
        if new is not None:
            later = (new.source, new.line)
            key = _Key(later, back.get(later))
        elif old is not None:
            key = _Key(sources.later(old.source, old.line), (old.source, old.line))
        found.setdefault(key, []).append(change)
        sure = all(place.exact for place in (new, old) if place is not None)
        exact[key] = exact.get(key, True) and sure
    ordered = sorted(found, key=_order)
    return tuple(_group(key, found[key], exact[key], sources) for key in ordered)


def _order(key: _Key) -> tuple[bool, int, int, bool]:
    """By line; what is gone stands where it stood, what belongs to no line stands last."""
    place = key.later or key.earlier
    source, line = place or (0, 0)
    return place is None, source, line, key.later is not None


def _group(key: _Key, changes: list[LineChange], exact: bool, sources: Sources) -> LineGroup:
    if key.later is not None:
        name, code = sources.after[key.later[0]].name, sources.code(*key.later)
    elif key.earlier is not None:
        name = sources.before[key.earlier[0]].name
        code = sources.code(*key.earlier, earlier=True)
    else:
        name = code = ""
    return LineGroup(
        name,
        key.earlier[1] if key.earlier else None,
        key.later[1] if key.later else None,
        code,
        tuple(changes),
        exact,
    )
