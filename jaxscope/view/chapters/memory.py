"""The chapter on memory by line: buffers alive at the peak, XLA's schedule, possible savings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from jaxscope import words
from jaxscope.analysis.memory.donations import Donation, donations
from jaxscope.model import Memory, Program, Record, Unavailable
from jaxscope.model.profile import BufferTimeline, SourceLine
from jaxscope.model.program import TRANSFORM
from jaxscope.view.base import svg
from jaxscope.view.base.document import Chapter, Part
from jaxscope.view.base.figure import Figure, FigureAxis, FigureSeries, SeriesForm
from jaxscope.view.base.places import code, function_name, label, linked
from jaxscope.view.base.table import Place, Table
from jaxscope.view.chapters.gradient import checkpoint_table, residual_lines
from jaxscope.view.profile.hottest import WORTH

_COLUMNS, _ROWS = 64, 6
_MOST_BUFFERS, _MOST_DONATIONS = 40, 20
_SAVING = 0.05
"""Share of the peak that must be saved for a sentence."""


def chapter(record: Record, program: Program) -> Chapter | None:
    """The memory plan of a profiled program; None when it was not requested."""
    found = program.buffers
    if found is None:
        return None
    title = "Memory by line"
    if isinstance(found, Unavailable):
        return Chapter("buffers", title, (f"Memory by line is unavailable: {found.reason}.",))
    own, called = Counter[Place](), Counter[Place]()
    for row in found.alive:
        own[_key(row.place)] += row.bytes
        if row.inside is not None:
            called[_key(row.inside)] += row.bytes
    given = donations(program, len(record.sources))
    lead = [_whole(program, found)]
    lead += _peak(record, found, own, called) if found.steps else ["There are no temporaries."]
    lead += _savings(program, found, given)
    whole = found.static + found.temp
    tables = (
        ("Alive at the peak, by line", _by_line(record, found, own)),
        ("Alive at the peak, by line of called code", _by_line(record, found, called)),
        ("Alive at the peak, the largest first", _buffers(record, found)),
        ("Saved residuals, by the line that makes them", residual_lines(record, program)),
        ("Largest effect of donation", _donations(record, given, whole)),
        ("Estimated effect of a checkpoint", checkpoint_table(record, program, whole)),
    )
    parts = [Part(caption, table) for caption, table in tables if table.rows]
    if found.steps:
        caption, picture = "Temporaries alive, over XLA's schedule", svg.figure(figure(found))
        parts.insert(0, Part(caption, picture=picture, drawing=_drawing(found)))
    return Chapter("buffers", title, tuple(lead), tuple(parts))


def _key(place: SourceLine | None) -> Place:
    return (place.source, place.line) if place else None


def _whole(program: Program, found: BufferTimeline) -> str:
    text = (
        f"The peak is {words.size(found.static + found.temp)}: {words.size(found.static)} of "
        f"arguments, results and constants, {words.size(found.temp)} of temporaries."
    )
    memory = program.memory
    if isinstance(memory, Memory) and memory.alias:
        text += f" {words.size(memory.alias)} of results reuse donated arguments."
    return text


def _peak(
    record: Record, found: BufferTimeline, own: Counter[Place], called: Counter[Place]
) -> Iterator[str]:
    peak = max(found.peak_temp, 1)
    [(line, most)] = own.most_common(1)
    where = f"from {label(record, line, 'line ')}" if line else "unattributed"
    text = (
        f"Most temporaries are alive at `{found.peak_at}`: {words.size(found.peak_temp)}, "
        f"{words.percent(most / peak)} of it {where}."
    )
    if found.overallocates:
        spare = words.size(found.temp - found.peak_temp)
        text += f" XLA reserves {spare} more than are alive at once."
    yield text
    for line, size in called.most_common(1):
        if size >= WORTH * peak:  # the first source may only call the line that allocates
            yield (
                f"In called code, {label(record, line)} allocates most: {words.size(size)} "
                f"({words.percent(size / peak)}): `{code(record, line)}`"
            )


def _savings(program: Program, plan: BufferTimeline, given: tuple[Donation, ...]) -> Iterator[str]:
    whole = plan.static + plan.temp
    saved = sum(row.bytes for row in given)
    if saved > _SAVING * whole and TRANSFORM not in program.transforms:
        # XLA uses the buffer of a result for temporaries, too, until the result is written.
        yield (
            f"Donating {words.names([row.input for row in given])} would lower the peak by at most "
            f"{words.size(saved)} ({words.percent(saved / whole)}), if not read after the call."
        )
    checkpoints = () if program.gradient is None else program.gradient.checkpoints
    best = max(checkpoints, key=lambda one: one.freed_bytes, default=None)
    if best is not None and best.freed_bytes > _SAVING * whole:
        yield (
            f"`jax.checkpoint` on `{function_name(best)}` would lower the peak by an estimated "
            f"{words.size(best.freed_bytes)} ({words.percent(best.freed_bytes / whole)})."
        )


def _by_line(record: Record, found: BufferTimeline, sums: Counter[Place]) -> Table:
    peak = max(found.peak_temp, 1)
    return Table.of(
        sums.most_common(),
        ("<", "line", lambda row: linked(record, row[0], "unattributed")),
        (">", "bytes", lambda row: words.size(row[1])),
        (">", "share", lambda row: words.percent(row[1] / peak)),
        ("<", "code", lambda row: code(record, row[0])),
    )


def _buffers(record: Record, found: BufferTimeline) -> Table:
    shown = found.alive[:_MOST_BUFFERS]
    return Table.of(
        [(alive, _key(alive.inside or alive.place)) for alive in shown],
        ("<", "instruction", lambda row: f"`{row[0].instruction}`"),
        (">", "bytes", lambda row: words.size(row[0].bytes)),
        ("<", "line", lambda row: linked(record, row[1])),
        ("<", "code", lambda row: code(record, row[1])),
    )


def _donations(record: Record, given: tuple[Donation, ...], whole: int) -> Table:
    rows: list[tuple[str, ...]] = []
    for row in given[:_MOST_DONATIONS]:
        place = _key(row.place)
        whole -= row.bytes
        made_at = code(record, place) if place else row.output
        sizes = words.size(row.bytes), words.size(whole)
        rows.append((f"`{row.input}`", *sizes, linked(record, place), made_at))
    heads = ("donated", "frees", "peak after it and those above", "result made at", "code")
    return Table(heads, tuple(rows), (1, 2))


def figure(plan: BufferTimeline) -> Figure:
    """Bytes alive over XLA's schedule: the constant part, and the temporaries on top of it.

    A static picture has the temporaries alone.
    """
    whole, at = words.size(plan.static + plan.temp), plan.peak_at or "no step"
    title = f"{whole} at the peak, most temporaries at {at}"
    if plan.overallocates:
        alive = words.size(plan.static + plan.peak_temp)
        title = f"{alive} alive at most, at {at}, of {whole} reserved"
    # The last step is as wide as the others.
    steps = [*plan.steps, *plan.steps[-1:]]
    areas = {
        "arguments, results, constants": [float(plan.static)] * len(steps),
        "temporaries": [float(step.live) for step in steps],
    }
    series = [
        FigureSeries(
            name,
            tuple(map(float, range(len(steps)))),
            tuple(sizes),
            SeriesForm.AREA,
            color,
            texts=tuple(
                f"{step.instruction}\n{words.size(size)}"
                for step, size in zip(steps, sizes, strict=True)
            ),
            interactive=not color,
        )
        for color, (name, sizes) in enumerate(areas.items())
    ]
    return Figure(
        f"temporaries over the schedule, at most {words.size(plan.peak_temp)} at {plan.peak_at}",
        FigureAxis("step of the schedule (not time)"),
        FigureAxis("", words.size, unit="B"),
        tuple(series),
        title=title,
        width=640,
        height=140,
    )


def _drawing(found: BufferTimeline) -> tuple[str, ...]:
    steps, top = found.steps, max(found.peak_temp, 1)
    columns = min(_COLUMNS, len(steps))
    heights: list[float] = []
    for column in range(columns):
        first = column * len(steps) // columns
        last = max((column + 1) * len(steps) // columns, first + 1)
        heights.append(max(step.live for step in steps[first:last]) / top)
    lines: list[str] = []
    for row in range(_ROWS, 0, -1):
        parts = [height * _ROWS - row + 1 for height in heights]
        blocks = ("█" if part >= 1 else "▄" if part > 0.25 else " " for part in parts)
        lines.append("".join(blocks).rstrip())
    return (*lines, "─" * columns)
