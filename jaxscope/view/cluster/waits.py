"""Waits of the processes for each other as a document."""

from __future__ import annotations

from collections.abc import Mapping

from jaxscope import words
from jaxscope.analysis.cluster.runs import ranges, said
from jaxscope.analysis.cluster.waits import ClockOffset, Lateness, Waits
from jaxscope.view.base.bars import small_bar
from jaxscope.view.base.document import Chapter, Document, Part
from jaxscope.view.base.table import Cell, Table
from jaxscope.view.cluster.run import first_line

_MOST = 60
_WORTH = 0.1
"""Share of the cell that a wait needs to be the headline."""
_MAIN = 2 / 3
"""Share of all waits that it needs as well."""
_HEADS = (
    "process",
    "waited",
    "others waited for it",
    "host late",
    "device late",
    "at",
    "clock",
)


def waits_document(found: Waits, errors: Mapping[int, str]) -> Document:
    """One row per process, those for which the others waited longest first."""
    failures = [
        f"{ranges(p).capitalize()}: {first_line(text)}." for text, p in said(errors.items()).items()
    ]
    processes = found.processes
    first = ["Cluster profile", words.count(processes, "process", "processes")]
    if found.mismatch:
        return Document(
            "cluster", (*first, "the processes differ"), (found.mismatch, *failures), ()
        )
    first.append(words.count(found.collectives, "shared collective"))
    if not found.collectives:
        note = "No collective joined the processes, so nothing is known of waits and clocks."
        return Document("cluster", tuple(first), (note, *failures), ())
    first.append(_headline(found))
    late = {one.process: one for one in found.late}
    clocks = {clock.process: clock for clock in found.clocks}
    order = sorted(
        found.waited,
        key=lambda process: (-_seconds(late.get(process)), -found.waited[process], process),
    )
    rows = tuple(_row(found, late.get(p), clocks[p]) for p in order[:_MOST])
    lead = () if len(rows) == processes else (f"{len(rows)} of {processes} processes are shown.",)
    table = Table(_HEADS, rows, (0, 1, 2, 3, 4, 6))
    chapter = Chapter("waits", "", lead, (Part(table=table, brief=True),))
    return Document(
        "cluster", tuple(first), tuple(failures), (chapter,), "`.waits` has every process"
    )


def _seconds(one: Lateness | None) -> float:
    return 0.0 if one is None else one.wait_s


def _headline(found: Waits) -> str:
    worst = found.late[0] if found.late else None
    whole = sum(one.wait_s for one in found.late)
    if worst is None or worst.wait_s < _WORTH * found.span_s or worst.wait_s < _MAIN * whole:
        return f"no straggler; waits of {words.seconds(whole)} in all"
    text = f"process {worst.process} made the others wait {words.seconds(worst.wait_s)}"
    if worst.host_s >= worst.wait_s / 2:
        where = _where(worst)
        return f"{text}: host late{f' at {where}' if where else ''}"
    return f"{text}: device {_device(worst)} late"


def _where(one: Lateness) -> str:
    return max(one.lines, key=lambda line: one.lines[line], default="")


def _device(one: Lateness) -> int:
    return max(one.devices, key=lambda device: one.devices[device])


def _row(found: Waits, one: Lateness | None, clock: ClockOffset) -> tuple[str, ...]:
    most = max([*found.waited.values(), *[late.wait_s for late in found.late]])
    waited = found.waited[clock.process]
    bar = small_bar((("waited", waited),), words.seconds, most)
    head = (str(clock.process), Cell(words.seconds(waited), picture=bar))
    offset = words.UNKNOWN
    if clock.seconds is not None:
        sign = "-" if clock.seconds < 0 else "+"
        error = f" ± {words.seconds(clock.error_s)}" if clock.error_s else ""
        offset = f"{sign}{words.seconds(abs(clock.seconds))}{error}" if clock.seconds else "0"
    if one is None:
        return (*head, words.seconds(0.0), "", "", "", offset)
    worth = one.wait_s >= _WORTH * found.span_s
    place = _where(one) if one.host_s >= one.wait_s / 2 else f"device {_device(one)}"
    return (
        *head,
        Cell(
            words.seconds(one.wait_s),
            "flag" if worth else "",
            picture=small_bar(
                (("host late", one.host_s), ("device late", one.device_s)), words.seconds, most
            ),
        ),
        words.seconds(one.host_s),
        words.seconds(one.device_s),
        place,
        offset,
    )
