"""A report as JSON for the viewer, packed and bounded so that a notebook can carry it.

`labextension/src/schema/report.ts` has its types. The packed part is the record with everything
that Python derives from it: figures by line and instruction, eliminated code, tables, pictures.
"""

from __future__ import annotations

import base64
import dataclasses
import gzip
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from jaxscope import words
from jaxscope.model import Program, Record, Source, Stage, StageKind, Unavailable, to_json
from jaxscope.model.profile import Profile
from jaxscope.version import __version__
from jaxscope.view.base.document import SEPARATOR, Document, Room, first_fitting
from jaxscope.view.base.static import static_html
from jaxscope.view.bundle import figures
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

_QUICK = 2_000_000
"""Characters of texts up to which everything is packed to test whether it fits."""
_SHORTENED = (
    "Shortened to keep the notebook small: long tables end early, and data that the viewer does "
    "not need is missing. `report.to_html(path)` and `report.save(path)` write everything."
)
_MOST_REASONS = 3
_LONGEST = 2000
"""Characters of one line."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Bounds:
    """The limits of a payload."""

    room: Room = dataclasses.field(default_factory=Room)
    whole: bool = False
    """Whether the whole record is included; else the part that the viewer reads."""
    detail: bool = True
    """Scopes and shapes of the equations."""
    equations: int = 100_000
    """Equations of all programs."""
    programs: int = 1000
    _: dataclasses.KW_ONLY
    sources: int = 100_000_000
    """Characters of all sources."""


MOST_EQUATIONS = 12_000
"""Most equations saved with an output, at 10 bytes each; more are sent with the first requested
text."""
_BOUNDS = (
    _Bounds(whole=True, equations=MOST_EQUATIONS),
    _Bounds(Room(200), equations=MOST_EQUATIONS, programs=200, sources=400_000),
    _Bounds(Room(60, pictures=False), False, False, MOST_EQUATIONS, 40, sources=100_000),
    _Bounds(Room(200, pictures=False), False, False, 0, 40, sources=100_000),
    _Bounds(Room(15, pictures=False), False, False, 0, 5, sources=20_000),
    _Bounds(Room(0, pictures=False), False, False, 0, 0, sources=2000),
)
"""From the largest to the smallest; the first that fits without the texts is used."""


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

    def made(bounds: _Bounds, dropped: frozenset[Key]) -> Json:
        return wrapped(summary, report_id, pack(_data(parts, bounds, dropped)))

    if cap is None:
        return made(_Bounds(whole=True), frozenset())
    texts = _texts(record)
    few = sum(len(program.equations) for program in record.programs) <= MOST_EQUATIONS
    if few and sum(len(stage.text) for _, stage in texts) <= _QUICK:
        found = made(_BOUNDS[0], frozenset())
        if size(found) <= cap:
            return found
    every = frozenset(key for key, _ in texts)
    bounds, found = first_fitting(
        ((b, made(b, every)) for b in _BOUNDS if few or not b.equations),
        lambda one: size(one[1]),
        cap,
    )
    kept = _fitting(record, texts, cap - size(found))
    # Packed together they need less than one by one; if they do not, all are left out.
    more = made(bounds, every - kept) if kept else found
    return more if size(more) <= cap else found


def _heads(record: Record) -> list[Json]:
    """Title and first line of each program, for a selection menu."""
    if len(record.programs) < 2:
        return [{} for _ in record.programs]
    return [
        {"title": _cut(title), "first": [_cut(part) for part in program_parts(record, index)]}
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


def _fitting(record: Record, texts: list[tuple[Key, Stage]], space: int) -> frozenset[Key]:
    """The texts that fit, the shortest first; measured as they are packed."""
    kept: set[Key] = set()
    for key, stage in texts:
        if len(stage.text) > _QUICK:
            break
        with_text: Json = {"stage": to_json(stage)}
        if stage.kind is StageKind.OPTIMIZED_HLO:
            with_text["instructions"] = figures.by_instruction(record.programs[key[0]])
        space -= len(pack(with_text))
        if space < 0:
            break
        kept.add(key)
    return frozenset(kept)


def wrapped(summary: str, report_id: str, data: str) -> Json:
    """The packed data, with the fields that are read before unpacking."""
    return {
        "schema": PAYLOAD_SCHEMA,
        "version": __version__,
        "id": report_id,
        "summary": _cut(summary),
        "data": data,
    }


def comparison_payload(summary: str, build: Callable[[Room], Document]) -> Json:
    """A comparison of implementations: its HTML with SVG; the viewer has the style sheets."""
    markup = static_html(build, inline=True, styled=False)
    return wrapped(summary, "", pack({"markup": markup})) | {"kind": "comparison"}


def _cut(line: str) -> str:
    return words.cut(line, _LONGEST)


def pack(data: Json) -> str:
    """JSON, gzipped, base64."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    # No time stamp: equal reports give equal bytes.
    return base64.b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode()


def _data(made: _Made, bounds: _Bounds, dropped: frozenset[Key]) -> Json:
    record, rows = made.record, bounds.room.rows
    carried = _carried(record, bounds)
    carried = dataclasses.replace(carried, notes=(*carried.notes, *_untimed(record)))
    found: Json = {
        "record": to_json(_without(carried, dropped)),
        "programs": [
            _figures(made, number, bool(program.equations), dropped)
            for number, program in enumerate(carried.programs)
        ],
        "tabs": tabs(record, bounds.room) if rows else [],
        "findings": findings(record, rows) if rows else "",
        "first": [_cut(part) for part in first_parts(record)],
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


def _untimed(record: Record) -> tuple[str, ...]:
    """Distinct reasons for missing line times."""
    reasons: dict[str, None] = {}
    for found in (program.profile for program in record.programs):
        if isinstance(found, Profile) and found.unreliable:
            reasons[_cut(f"Lines have no times. {found.unreliable}")] = None
        elif isinstance(found, Unavailable):
            reasons[_cut(f"There is no profile: {found.reason}.")] = None
    return tuple(reasons)[:_MOST_REASONS]


def _carried(record: Record, bounds: _Bounds) -> Record:
    """The record, or the part of it that the viewer reads."""
    if bounds.whole:
        return record
    programs: list[Program] = []
    left = bounds.equations
    for program in record.programs[: bounds.programs]:
        # Half the equations of a program would have half the links, and look whole.
        equations = program.equations if len(program.equations) <= left else ()
        left -= len(equations)
        if not bounds.detail:
            equations = tuple(
                dataclasses.replace(e, scope="", inputs=(), outputs=()) for e in equations
            )
        programs.append(
            Program(
                _cut(program.name),
                program.transforms,
                program.devices,
                (),
                (),
                constants=(),
                equations=equations,
                stages=program.stages,
                exact=program.exact,
                inexact_why=program.inexact_why,
            )
        )
    return Record(
        _cut(record.title),
        record.form,
        record.created,
        dataclasses.replace(record.environment, flags=()),
        tuple(_shortened(record.sources, bounds.sources)),
        programs=tuple(programs),
        compiles=(),
        findings=tuple(record.findings[: bounds.room.rows]),
        notes=(*(_cut(note) for note in record.notes[: bounds.room.rows]), _SHORTENED),
        wall_s=record.wall_s,
    )


def _shortened(sources: Iterable[Source], left: int) -> Iterator[Source]:
    """Whole lines of each source, as long as there is room; the first comes first."""
    for source in sources:
        if len(source.text) > left:
            text = source.text[:left].rpartition("\n")[0]
            source = dataclasses.replace(source, text=text)
        left -= len(source.text)
        yield source


def _figures(made: _Made, number: int, linked: bool, dropped: frozenset[Key]) -> Json:
    program = made.record.programs[number]
    found: Json = {
        "lines": made.lines[number],
        "omitted": _omitted(program, number, dropped),
        **made.heads[number],
        **made.rest[number],
        **_price(made.record, program),
        **(made.lost[number] if linked else {}),
    }
    if (number, StageKind.OPTIMIZED_HLO) not in dropped:
        found["instructions"] = figures.by_instruction(program)
    return found


def _price(record: Record, program: Program) -> Json:
    seconds = sum(record.compiles[i].compile_s or 0.0 for i in program.compiles)
    if program.target is not None:
        seconds = program.target.seconds or 0.0
    return {"compile_s": seconds} if seconds else {}


def _omitted(program: Program, number: int, dropped: frozenset[Key]) -> Json:
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
        elif (number, kind) in dropped:
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
