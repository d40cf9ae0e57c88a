"""Memory by line: what is alive when most is, and how it got there."""

from __future__ import annotations

from jaxscope.model import Memory, Program, Record, Unavailable
from jaxscope.model.buffers import Alive, BufferTimeline
from jaxscope.view import memory_savings, units
from jaxscope.view.chapter import Chapter, Part
from jaxscope.view.markup import escape
from jaxscope.view.rows import Table
from jaxscope.view.visible import excerpt, split_lines

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
        *memory_savings.sentences(record, program, found),
    )
    parts = (
        Part("Temporaries alive, over XLA's schedule", None, _area(found), _drawing(found)),
        Part("Alive at the peak, by line", _by_line(record, found)),
        Part("Alive at the peak, the largest first", _buffers(record, found)),
        *memory_savings.parts(record, program, found),
    )
    return Chapter("buffers", title, lead, parts)


def _whole(program: Program, found: BufferTimeline) -> str:
    text = (
        f"{units.size(found.static + found.temp)} at the peak: {units.size(found.static)} of "
        f"arguments, results and constants, {units.size(found.temp)} of temporaries."
    )
    memory = program.memory
    if isinstance(memory, Memory) and memory.alias:
        text += f" {units.size(memory.alias)} of results took over donated arguments."
    return text


def _peak(record: Record, found: BufferTimeline) -> str:
    by_line = _sums(record, found)
    most = max(by_line.items(), key=lambda item: item[1])
    share = units.percent(most[1] / max(found.peak_temp, 1))
    where = "no known line"
    if most[0]:
        source, line = most[0]
        where = f"line {line}{f' of {record.sources[source].name}' if source else ''}"
    return (
        f"Most temporaries are alive at `{found.peak_at}`: {units.size(found.peak_temp)}, "
        f"{share} of it from {where}."
    )


_Key = tuple[int, int] | None


def _sums(record: Record, found: BufferTimeline) -> dict[_Key, int]:
    sums: dict[_Key, int] = {}
    for row in found.alive:
        key = (row.place.source, row.place.line) if row.place else None
        sums[key] = sums.get(key, 0) + row.bytes
    return sums


def _code(record: Record, key: _Key) -> str:
    if key is None:
        return ""
    lines = split_lines(record.sources[key[0]].text)
    return excerpt(lines[key[1] - 1]) if 0 < key[1] <= len(lines) else ""


def _by_line(record: Record, found: BufferTimeline) -> Table:
    rows = sorted(_sums(record, found).items(), key=lambda item: -item[1])

    return Table(
        ("line", "bytes", "share", "code"),
        tuple(
            (
                memory_savings.line_name(record, *key) if key else "no known line",
                units.size(size),
                units.percent(size / max(found.peak_temp, 1)),
                _code(record, key),
            )
            for key, size in rows
        ),
        right=(1, 2),
        lines=(0,),
        places=tuple(key for key, _ in rows),
    )


def _buffers(record: Record, found: BufferTimeline) -> Table:
    def row(alive: Alive) -> tuple[str, ...]:
        key = (alive.place.source, alive.place.line) if alive.place else None
        line = memory_savings.line_name(record, *key) if key else ""
        return (f"`{alive.instruction}`", units.size(alive.bytes), line, _code(record, key))

    rows = tuple(row(alive) for alive in found.alive[:_MOST])
    places = tuple(
        (alive.place.source, alive.place.line) if alive.place else None
        for alive in found.alive[:_MOST]
    )
    return Table(("written by", "bytes", "line", "code"), rows, (1, 2), (2,), places)


def _area(found: BufferTimeline) -> str:
    steps, top = found.steps, max(found.peak_temp, 1)
    width = _WIDTH / len(steps)
    points = "".join(
        f"L{i * width:.1f},{_HEIGHT - step.live / top * (_HEIGHT - 14):.1f}H{(i + 1) * width:.1f}"
        for i, step in enumerate(steps)
    )
    label = f"{units.size(found.peak_temp)} at {found.peak_at}"
    return (
        f'<figure><svg viewBox="0 0 {_WIDTH} {_HEIGHT + 2}" role="img" '
        f'aria-label="{escape(label)}"><path class="p1" fill-opacity=".35" '
        f'd="M0,{_HEIGHT}{points}V{_HEIGHT}Z"/><line class="axis" x1="0" x2="{_WIDTH}" '
        f'y1="{_HEIGHT}" y2="{_HEIGHT}"/><text x="2" y="10">{escape(label)}</text></svg>'
        f"<figcaption>{units.count(len(steps), 'step')} of the schedule, from left to right; the "
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
