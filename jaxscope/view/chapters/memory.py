"""Memory by line: what is alive when most is, and how it got there."""

from __future__ import annotations

from jaxscope import words
from jaxscope.model import Memory, Program, Record, Unavailable
from jaxscope.model.memory_plan import BufferTimeline, LiveBuffer
from jaxscope.model.profile import SourceLine
from jaxscope.view.base.chapter import Chapter, Part
from jaxscope.view.base.html import escape
from jaxscope.view.base.table import Table
from jaxscope.view.base.visible import excerpt, split_lines
from jaxscope.view.chapters import memory_savings
from jaxscope.view.profile.hottest import WORTH

_WIDTH, _HEIGHT = 640, 90
_COLUMNS, _ROWS = 64, 6
_MOST = 40


def chapter(record: Record, program: Program) -> Chapter | None:
    """The memory plan of a profiled program; None if nobody asked for it."""
    found = program.buffers
    if found is None:
        return None
    title = "Memory by line"
    if isinstance(found, Unavailable):
        return Chapter("buffers", title, (f"There is no memory by line: {found.reason}.",))
    if not found.steps:
        lead = (_whole(program, found), "It needs no temporaries.")
        lead = (*lead, *memory_savings.sentences(record, program, found))
        return Chapter("buffers", title, lead, memory_savings.parts(record, program, found))
    lead = (
        _whole(program, found),
        _peak(record, found),
        *_inside(record, found),
        *memory_savings.sentences(record, program, found),
    )
    parts = (
        Part("Temporaries alive, over XLA's schedule", None, _area(found), _drawing(found)),
        Part("Alive at the peak, by line", _by_line(record, found, _sums(found))),
        *_parts_inside(record, found),
        Part("Alive at the peak, the largest first", _buffers(record, found)),
        *memory_savings.parts(record, program, found),
    )
    return Chapter("buffers", title, lead, parts)


def _whole(program: Program, found: BufferTimeline) -> str:
    text = (
        f"{words.size(found.static + found.temp)} at the peak: {words.size(found.static)} of "
        f"arguments, results and constants, {words.size(found.temp)} of temporaries."
    )
    memory = program.memory
    if isinstance(memory, Memory) and memory.alias:
        text += f" {words.size(memory.alias)} of results took over donated arguments."
    return text


def _peak(record: Record, found: BufferTimeline) -> str:
    by_line = _sums(found)
    most = max(by_line.items(), key=lambda item: item[1])
    share = words.percent(most[1] / max(found.peak_temp, 1))
    where = "unattributed"
    if most[0]:
        source, line = most[0]
        where = f"line {line}{f' of {record.sources[source].name}' if source else ''}"
    more = ""
    if found.overallocates:
        spare = words.size(found.temp - found.peak_temp)
        more = f" XLA sets {spare} more aside for temporaries than are alive at once."
    return (
        f"Most temporaries are alive at `{found.peak_at}`: {words.size(found.peak_temp)}, "
        f"{share} of it from {where}.{more}"
    )


_Key = tuple[int, int] | None


def _sums(found: BufferTimeline) -> dict[_Key, int]:
    sums: dict[_Key, int] = {}
    for row in found.alive:
        key = _key(row.place)
        sums[key] = sums.get(key, 0) + row.bytes
    return sums


def _key(place: SourceLine | None) -> _Key:
    return (place.source, place.line) if place else None


def _sums_inside(found: BufferTimeline) -> dict[_Key, int]:
    """By the lines of other sources, which the first one calls; what is its own is left out."""
    sums: dict[_Key, int] = {}
    for row in found.alive:
        if key := _key(row.inside):
            sums[key] = sums.get(key, 0) + row.bytes
    return sums


def _inside(record: Record, found: BufferTimeline) -> tuple[str, ...]:
    """The line that made most in a module: the first source may only call what is there."""
    sums = _sums_inside(found)
    if not sums:
        return ()
    key, size = max(sums.items(), key=lambda item: item[1])
    if key is None or size < WORTH * max(found.peak_temp, 1):
        return ()
    share = words.percent(size / max(found.peak_temp, 1))
    return (
        (
            f"In {record.sources[key[0]].name} line {key[1]} made most: {words.size(size)} "
            f"({share}): `{_code(record, key)}`"
        ),
    )


def _parts_inside(record: Record, found: BufferTimeline) -> tuple[Part, ...]:
    sums = _sums_inside(found)
    caption = "Alive at the peak, by line of what is called"
    return (Part(caption, _by_line(record, found, sums)),) if sums else ()


def _code(record: Record, key: _Key) -> str:
    if key is None:
        return ""
    lines = split_lines(record.sources[key[0]].text)
    return excerpt(lines[key[1] - 1]) if 0 < key[1] <= len(lines) else ""


def _by_line(record: Record, found: BufferTimeline, sums: dict[_Key, int]) -> Table:
    rows = sorted(sums.items(), key=lambda item: -item[1])
    return Table(
        ("line", "bytes", "share", "code"),
        tuple(
            (
                memory_savings.line_name(record, *key) if key else "unattributed",
                words.size(size),
                words.percent(size / max(found.peak_temp, 1)),
                _code(record, key),
            )
            for key, size in rows
        ),
        right=(1, 2),
        lines=(0,),
        places=tuple(key for key, _ in rows),
    )


def _buffers(record: Record, found: BufferTimeline) -> Table:
    def row(alive: LiveBuffer) -> tuple[str, ...]:
        key = _key(alive.inside or alive.place)
        line = memory_savings.line_name(record, *key) if key else ""
        return (f"`{alive.instruction}`", words.size(alive.bytes), line, _code(record, key))

    rows = tuple(row(alive) for alive in found.alive[:_MOST])
    places = tuple(_key(alive.inside or alive.place) for alive in found.alive[:_MOST])
    return Table(("written by", "bytes", "line", "code"), rows, (1, 2), (2,), places)


def _area(found: BufferTimeline) -> str:
    steps, top = found.steps, max(found.peak_temp, 1)
    width = _WIDTH / len(steps)
    points = "".join(
        f"L{i * width:.1f},{_HEIGHT - step.live / top * (_HEIGHT - 14):.1f}H{(i + 1) * width:.1f}"
        for i, step in enumerate(steps)
    )
    label = f"{words.size(found.peak_temp)} at {found.peak_at}"
    return (
        f'<figure><svg viewBox="0 0 {_WIDTH} {_HEIGHT + 2}" role="img" '
        f'aria-label="{escape(label)}"><path class="p1" fill-opacity=".35" '
        f'd="M0,{_HEIGHT}{points}V{_HEIGHT}Z"/><line class="axis" x1="0" x2="{_WIDTH}" '
        f'y1="{_HEIGHT}" y2="{_HEIGHT}"/><text x="2" y="10">{escape(label)}</text></svg>'
        f"<figcaption>{words.count(len(steps), 'step')} of the schedule, from left to right; the "
        "axis is no time</figcaption></figure>"
    )


def _drawing(found: BufferTimeline) -> tuple[str, ...]:
    steps, top = found.steps, max(found.peak_temp, 1)
    columns = min(_COLUMNS, len(steps))
    heights: list[float] = []
    for column in range(columns):
        first = column * len(steps) // columns
        last = max((column + 1) * len(steps) // columns, first + 1)
        heights.append(max(step.live for step in steps[first:last]) / top)
    lines = [
        "".join(_block(height * _ROWS - row + 1) for height in heights).rstrip()
        for row in range(_ROWS, 0, -1)
    ]
    return (*lines, "─" * columns)


def _block(part: float) -> str:
    """How much of one character a column fills."""
    if part >= 1:
        return "█"
    return "▄" if part > 0.25 else " "
