"""The changes of a stage, grouped by the source line that they belong to."""

from __future__ import annotations

from typing import NamedTuple

from jaxscope.analysis.diff.sources import SourcePairs
from jaxscope.analysis.diff.structure import compare_texts
from jaxscope.analysis.links.line_links import line_equations
from jaxscope.analysis.vmap.lines import place_of
from jaxscope.model import Program, Stage
from jaxscope.model.report_diff import LineChange, LineGroup, StageDiff

SourceLine = tuple[int, int]
"""Source and line."""


def compare_stages(
    before: tuple[Program, Stage], after: tuple[Program, Stage], sources: SourcePairs
) -> StageDiff:
    """The differences between two programs at one stage."""
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


def _source_line(
    program: Program, stage: Stage, line: int | None
) -> tuple[SourceLine | None, bool]:
    """The user's line behind a line of the stage, and whether the link is exact."""
    anchor = line_equations(stage, line) if line is not None else None
    if anchor is None or not anchor.equations or anchor.equations[0] >= len(program.equations):
        return None, True
    place = place_of(program.equations[anchor.equations[0]])
    return place, place is None or anchor.exact


class _Key(NamedTuple):
    """A line of the code: in the later report, in the earlier one, or in both."""

    later: SourceLine | None = None
    earlier: SourceLine | None = None

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
