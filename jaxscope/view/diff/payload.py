"""A comparison as the viewer reads it: `DiffDataJson` of `payload_json`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxscope import words
from jaxscope.model import Program, Stage, StageKind
from jaxscope.model.report_diff import DiffRecord, StageDiff
from jaxscope.view.base.document import SEPARATOR, Room, first_fitting
from jaxscope.view.base.static import HtmlWriter
from jaxscope.view.bundle.payload import CAP, pack, size, wrapped
from jaxscope.view.bundle.tabs import tab_of
from jaxscope.view.diff.document import caption, chapters, stage_lead, stage_title
from jaxscope.view.diff.summary import first_parts

Json = dict[str, Any]
Pairs = Sequence[tuple[Program, Program]]
"""The programs of both reports as the record pairs them, with their texts."""
Kept = frozenset[tuple[int, StageKind]]
"""Stages whose texts are included, by pair of programs."""

MOST_ROWS = 2000
_QUICK = 2_000_000
"""Characters of texts up to which they are packed to test whether they fit."""


def payload(record: DiffRecord, pairs: Pairs = (), *, cap: int | None = CAP) -> Json:
    """The comparison in at most `cap` bytes: the longest texts are left out first, with a sentence,
    then the tables get shorter. None sets no limit."""
    lengths = {
        (number, stage.kind): sum(len(text or "") for text in _texts(pairs, number, stage))
        for number, program in enumerate(record.programs)
        for stage in program.stages
    }
    kept = sorted((key for key, length in lengths.items() if length), key=lengths.__getitem__)
    if cap is None:
        return _packed(record, pairs, frozenset(kept), MOST_ROWS)
    while kept and sum(lengths[key] for key in kept) > _QUICK:
        kept.pop()
    return first_fitting(
        (
            _packed(record, pairs, frozenset(kept[:number]), rows)
            for rows, most in ((MOST_ROWS, len(kept)), (200, 0), (40, 0), (5, 0))
            for number in range(most, -1, -1)
        ),
        size,
        cap,
    )


def _packed(record: DiffRecord, pairs: Pairs, kept: Kept, rows: int) -> Json:
    data = pack(_data(record, pairs, kept, rows))
    return wrapped(SEPARATOR.join(first_parts(record)), "", data) | {"kind": "diff"}


def _data(record: DiffRecord, pairs: Pairs, kept: Kept, rows: int) -> Json:
    return {
        "first": list(first_parts(record)),
        "notes": list(record.notes[:rows]),
        "tabs": [
            tab_of(chapter, HtmlWriter(Room(rows)))
            for chapter in chapters(record, rows)
            if chapter.key != "stage"
        ],
        "stages": [
            _stage(
                stage,
                f" of {program.after}" if number else "",
                _texts(pairs, number, stage),
                (number, stage.kind) in kept,
            )
            for number, program in enumerate(record.programs)
            for stage in program.stages
        ],
    }


def _stage(stage: StageDiff, suffix: str, texts: tuple[str | None, str | None], fits: bool) -> Json:
    lead = stage_lead(stage)
    before, after = texts if fits else (None, None)
    changed = sum(len(group.changes) for group in stage.groups)
    if not fits and changed:
        lead.append(
            f"{words.count(changed, 'changed line')} left out to keep the notebook small: "
            "`diff.to_text(full=True)` shows every one."
        )
    return {
        "kind": stage.kind,
        "title": stage_title(stage, suffix),
        "lead": lead,
        "before": before,
        "after": after,
        "groups": [
            {"caption": caption(group), "changes": [[c.before, c.after] for c in group.changes]}
            for group in stage.groups
            if fits
        ],
    }


def _texts(pairs: Pairs, number: int, stage: StageDiff) -> tuple[str | None, str | None]:
    """The two texts; None for an unavailable one, and for both where nothing was compared."""
    if stage.unavailable or number >= len(pairs):
        return None, None
    old, new = pairs[number]
    return _text(old.stages, stage.kind), _text(new.stages, stage.kind)


def _text(stages: tuple[Stage, ...], kind: StageKind) -> str | None:
    return next((stage.text for stage in stages if stage.kind is kind), None)
