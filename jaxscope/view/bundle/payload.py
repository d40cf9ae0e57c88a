"""A report as JSON for the viewer, packed and bounded so that a notebook can carry it.

`labextension/src/schema/report.ts` has its types. The packed part is the record with everything
that Python derives from it: figures by line and instruction, eliminated code, tables, pictures.
"""

from __future__ import annotations

import base64
import dataclasses
import functools
import gzip
import json
from collections.abc import Callable, Collection, Mapping
from typing import Any

from jaxscope.model import Program, Record, Stage, StageKind, Unavailable, to_json
from jaxscope.model.profile import Profile
from jaxscope.version import __version__
from jaxscope.view.base.document import SEPARATOR, Document, Room, first_fitting
from jaxscope.view.base.static import static_html
from jaxscope.view.bundle import figures
from jaxscope.view.bundle.bounds import BOUNDS, MOST_EQUATIONS, PayloadBounds, carried, cut
from jaxscope.view.bundle.tabs import findings, tabs
from jaxscope.view.report.summary import first_parts, program_parts, titles
from jaxscope.view.report.tables import no_program

PAYLOAD_SCHEMA = 1
"""The version of the payload's schema. Changes by version:

1: the first.
"""
MIME = "application/vnd.jaxscope.report+json"
CAP = 150_000
"""Bytes of a report in a saved notebook: with its HTML beside it, a small cell's stay under 300 kB
and fifty cells under 15 MB."""

Json = dict[str, Any]
Key = tuple[int, StageKind]
"""A stage of a program."""

_SHORT = 400_000
"""Characters of a text up to which it is not packed alone to test whether it can fit."""
_QUICK = 2_000_000
"""Characters of texts up to which everything is packed to test whether it fits."""
_AT_FIRST: frozenset[Key] = frozenset({(0, StageKind.JAXPR), (0, StageKind.OPTIMIZED_HLO)})
"""The texts that a page opens with."""
_APART = 500_000
"""Characters of another text from which a page opens faster without it."""
_MOST_REASONS = 3


@dataclasses.dataclass(frozen=True, slots=True)
class _Made:
    """The parts that do not depend on the limits."""

    record: Record
    figure_kinds: Mapping[str, tuple[str, ...]]
    lines: list[list[Json]]
    """Figures by program, source and line."""
    rest: list[Json]
    """The unattributed part, by program."""
    lost: list[Json]
    """By program."""
    heads: list[Json]
    """By program, of several."""


def payload(
    record: Record,
    report_id: str = "",
    *,
    cap: int | None = CAP,
    figure_kinds: Mapping[str, tuple[str, ...]] | None = None,
) -> Json:
    """The report as the viewer reads it, at most `cap` bytes; None sets no limit.

    Where it does not fit, the longest texts are left out first, and `omitted` has their lengths.
    Where it still does not fit, tables and lists get shorter, and a note says so. `report_id`
    identifies the report in requests. `figure_kinds` has the plotly figures available from the
    kernel, by the key of their tab.
    """
    parts = _Made(
        record,
        figure_kinds or {},
        [figures.by_line(p, len(record.sources), record.profile) for p in record.programs],
        [figures.rest(program) for program in record.programs],
        [figures.lost(program) for program in record.programs],
        _heads(record),
    )
    summary = SEPARATOR.join(first_parts(record))
    texts = _texts(record)
    every = frozenset(key for key, _ in texts)
    bare = functools.cache(functools.partial(_bare, parts, every))

    @functools.cache
    def text(key: Key) -> Json:
        return _text(record.programs[key[0]], key[1])

    def made(bounds: PayloadBounds, kept: frozenset[Key] = frozenset()) -> Json:
        data = _with_texts(bare(bounds), record, {key: text(key) for key in kept})
        return wrapped(summary, report_id, pack(data))

    if cap is None:
        apart = {key for key, stage in texts if key not in _AT_FIRST and len(stage.text) > _APART}
        found = made(PayloadBounds(whole=True), every - apart)
        packed = {f"{number}/{kind}": pack(text((number, kind))) for number, kind in sorted(apart)}
        return found | ({"apart": packed} if packed else {})
    few = sum(len(program.equations) for program in record.programs) <= MOST_EQUATIONS
    tried = few and sum(len(stage.text) for _, stage in texts) <= _QUICK
    if tried and all(_may_fit(stage, cap) for _, stage in texts[-1:]):
        found = made(BOUNDS[0], every)
        if size(found) <= cap:
            return found
    bounds, found = first_fitting(
        ((b, made(b)) for b in BOUNDS if few or not b.equations),
        lambda one: size(one[1]),
        cap,
    )
    # With as much beside them, all of them together have just proved too large.
    candidates = texts[:-1] if tried and bounds is BOUNDS[0] else texts
    kept = _fitting(candidates, text, cap - size(found))
    # Packed together they need less than one by one; if they do not, all are left out.
    more = made(bounds, kept) if kept else found
    return more if size(more) <= cap else found


def _heads(record: Record) -> list[Json]:
    """Title and first line of each program, for a selection menu."""
    if len(record.programs) < 2:
        return [{} for _ in record.programs]
    return [
        {"title": cut(title), "first": [cut(part) for part in program_parts(record, index)]}
        for index, title in enumerate(titles(record.programs))
    ]


def size(found: Json) -> int:
    """Bytes of the payload as JSON."""
    return len(json.dumps(found))


def _texts(record: Record) -> list[tuple[Key, Stage]]:
    """The stages with a text, the shortest first."""
    found = [
        ((number, stage.kind), stage)
        for number, program in enumerate(record.programs)
        for stage in program.stages
        if stage.text
    ]
    return sorted(found, key=lambda one: len(one[1].text))


def _fitting(
    texts: list[tuple[Key, Stage]], json_of: Callable[[Key], Json], space: int
) -> frozenset[Key]:
    """The texts that fit, the shortest first; measured as they are packed."""
    kept: set[Key] = set()
    for key, stage in texts:
        if not _may_fit(stage, space):
            break
        space -= len(pack(json_of(key)))
        if space < 0:
            break
        kept.add(key)
    return frozenset(kept)


def _may_fit(stage: Stage, space: int) -> bool:
    """Whether the text alone fits; a short one, which takes no time to pack, may always."""
    if not _SHORT < len(stage.text) <= _QUICK:
        return len(stage.text) <= _SHORT
    return len(_packed(stage.text)) <= space


def wrapped(summary: str, report_id: str, data: str) -> Json:
    """The packed data, with the fields that are read before unpacking."""
    return {
        "schema": PAYLOAD_SCHEMA,
        "version": __version__,
        "id": report_id,
        "summary": cut(summary),
        "data": data,
    }


def comparison_payload(summary: str, build: Callable[[Room], Document]) -> Json:
    """A comparison of implementations: its HTML with SVG; the viewer has the style sheets."""
    markup = static_html(build, inline=True, styled=False)
    return wrapped(summary, "", pack({"markup": markup})) | {"kind": "comparison"}


def pack(data: Json) -> str:
    """JSON, gzipped, base64."""
    return _packed(json.dumps(data, separators=(",", ":"), allow_nan=False))


def _packed(text: str) -> str:
    # No time stamp: equal reports give equal bytes.
    data = gzip.compress(text.encode("utf-8", "replace"), 6, mtime=0)
    return base64.b64encode(data).decode()


def _bare(made: _Made, every: frozenset[Key], bounds: PayloadBounds) -> Json:
    """Everything but the texts."""
    record, rows = made.record, bounds.room.rows
    within = carried(record, bounds)
    within = dataclasses.replace(within, notes=(*within.notes, *_untimed(record)))
    found: Json = {
        "record": to_json(_without(within, every)),
        "programs": [
            _figures(made, number, bool(program.equations), every)
            for number, program in enumerate(within.programs)
        ],
        "tabs": tabs(record, bounds.room) if rows else [],
        "findings": findings(record, rows) if rows else "",
        "first": [cut(part) for part in first_parts(record)],
    }
    for tab in found["tabs"]:
        if kinds := made.figure_kinds.get(tab["key"]):
            tab["figures"] = list(kinds)
    if record.programs:
        program = record.programs[0]
        hottest = figures.hottest_source(program, len(record.sources), record.profile)
        found |= {"opens": hottest} if hottest else {}
    else:
        found["nothing"] = no_program(record)
        if record.profile is not None:
            found["lines"] = figures.of_cell(record.profile)
    return found


def _text(program: Program, kind: StageKind) -> Json:
    """The text of a stage, as `_with_texts` adds it."""
    stage = next(stage for stage in program.stages if stage.kind is kind)
    found: Json = {"stage": to_json(stage)}
    if kind is StageKind.OPTIMIZED_HLO:
        found["instructions"] = figures.by_instruction(program)
    return found


def _with_texts(bare: Json, record: Record, texts: Mapping[Key, Json]) -> Json:
    """The data with these texts."""
    order = list(StageKind)
    programs, rows = list[Json](), list[Json]()
    for number, (program, row) in enumerate(
        zip(bare["record"].get("programs", ()), bare["programs"], strict=True)
    ):
        mine = {kind: text for (owner, kind), text in texts.items() if owner == number}
        stages = [*program.get("stages", ()), *(text["stage"] for text in mine.values())]
        stages.sort(key=lambda stage: order.index(stage["kind"]))
        programs.append({**program, "stages": stages} if stages else program)
        row = {**row, "omitted": _omitted(record.programs[number], mine)}
        if StageKind.OPTIMIZED_HLO in mine:
            row["instructions"] = mine[StageKind.OPTIMIZED_HLO]["instructions"]
        rows.append(row)
    whole = {**bare["record"], "programs": programs} if programs else bare["record"]
    return {**bare, "record": whole, "programs": rows}


def _untimed(record: Record) -> tuple[str, ...]:
    """Distinct reasons for missing line times."""
    reasons: dict[str, None] = {}
    for found in (program.profile for program in record.programs):
        if isinstance(found, Profile) and found.unreliable:
            reasons[cut(f"Lines have no times. {found.unreliable}")] = None
        elif isinstance(found, Unavailable):
            reasons[cut(f"There is no profile: {found.reason}.")] = None
    return tuple(reasons)[:_MOST_REASONS]


def _figures(made: _Made, number: int, linked: bool, every: frozenset[Key]) -> Json:
    return {
        "lines": made.lines[number],
        **made.heads[number],
        **made.rest[number],
        **_price(made.record, made.record.programs[number]),
        **(made.lost[number] if linked else {}),
        **({} if (number, StageKind.OPTIMIZED_HLO) in every else {"instructions": {}}),
    }


def _price(record: Record, program: Program) -> Json:
    seconds = sum(record.compiles[i].compile_s or 0.0 for i in program.compiles)
    if program.target is not None:
        seconds = program.target.seconds or 0.0
    return {"compile_s": seconds} if seconds else {}


def _omitted(program: Program, kept: Collection[StageKind]) -> Json:
    """Texts that are not in the payload, with their lengths where they were fetched."""
    here = {stage.kind: stage for stage in program.stages}
    platform = program.devices[0].partition(":")[0] if program.devices else ""
    found: Json = {}
    for kind in StageKind:
        stage = here.get(kind)
        if stage is None:
            if platform and kind.platforms and platform not in kind.platforms:
                continue
            found[kind] = {"lines": None, "bytes": None}
            if program.target is not None and kind.value.startswith("llvm"):
                found[kind]["free"] = True
        elif stage.text and kind not in kept:
            lines = figures.line_count(stage.text)
            found[kind] = {"lines": lines, "bytes": len(stage.text.encode("utf-8", "replace"))}
    return found


def _without(record: Record, dropped: frozenset[Key]) -> Record:
    if not dropped:
        return record
    programs = tuple(
        dataclasses.replace(
            program, stages=tuple(s for s in program.stages if (number, s.kind) not in dropped)
        )
        for number, program in enumerate(record.programs)
    )
    return dataclasses.replace(record, programs=programs)
