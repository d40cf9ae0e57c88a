"""The pre-flight table and the state of a cluster as documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jaxscope import words
from jaxscope.analysis.cluster.preflight import PreflightRow, odd, preflight
from jaxscope.model.cluster import ProcessSetup
from jaxscope.view.base.document import Chapter, Document, Part
from jaxscope.view.base.table import Cell, Table

_MOST = 16
"""Columns of processes; of more, those that differ are shown first."""


def preflight_document(setups: Sequence[ProcessSetup]) -> Document:
    """One row per fact, one column per process; values that differ are marked."""
    rows = preflight(setups)
    shown = _columns(rows, len(setups))
    heads = ("", *[f"process {setups[i].process}" for i in shown])
    table = Table(heads, tuple(_row(row, shown) for row in rows))
    different = [row.name for row in rows if row.differs]
    verdict = f"different: {words.listed(different)}" if different else "all equal"
    count = words.count(len(setups), "process", "processes")
    notes: tuple[str, ...] = ()
    if len(shown) < len(setups):
        notes = (f"{len(shown)} of {count} are shown; those that differ come first.",)
    return Document(
        "cluster",
        ("Pre-flight", count, verdict),
        notes,
        (Chapter("preflight", "", parts=(Part(table=table, brief=True),)),),
    )


def _columns(rows: Sequence[PreflightRow], processes: int) -> list[int]:
    different = {i for row in rows if row.differs for i in odd(row.values)}
    order = [*sorted(different), *[i for i in range(processes) if i not in different]]
    return sorted(order[:_MOST])


def _row(row: PreflightRow, shown: Sequence[int]) -> tuple[str, ...]:
    marked = odd(row.values) if row.differs else frozenset[int]()
    cells = [
        Cell(f"≠ {row.values[i]}", "flag") if i in marked else Cell(row.values[i]) for i in shown
    ]
    return (row.name, *cells)


def status_document(states: Sequence[Mapping[str, Any]], silent: Sequence[int]) -> Document:
    """One row per process; `silent` are engines that did not answer, as they are busy."""
    rows: list[tuple[str, ...]] = []
    for state in states:
        if not state["watching"]:
            rows.append((words.UNKNOWN, "not initialized", *[words.UNKNOWN] * 4))
            continue
        rows.append(
            (
                str(state["process"]),
                "poisoned" if state["poisoned"] else "ready",
                state["guard"],
                str(state["compared"]),
                str(len(state["divergences"])),
                words.seconds(state["seconds"]),
            )
        )
    rows += [(str(engine), "busy", *[words.UNKNOWN] * 4) for engine in silent]
    heads = ("process", "state", "guard", "compared", "divergences", "time")
    messages = dict.fromkeys(m for s in states for m in s.get("divergences", ())[-3:])
    return Document(
        "cluster",
        ("Cluster", words.count(len(rows), "process", "processes")),
        tuple(_in_one_line(message) for message in messages),
        (
            Chapter(
                "status", "", parts=(Part(table=Table(heads, tuple(rows), (3, 4, 5)), brief=True),)
            ),
        ),
    )


def _in_one_line(message: str) -> str:
    """The message with the lines of the processes as a sentence behind it."""
    sentence, *places = message.split("\n  ")
    behind = "; ".join(places)
    return f"{sentence} {behind[:1].upper()}{behind[1:]}" if behind else sentence
