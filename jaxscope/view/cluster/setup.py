"""The pre-flight table and the state of a cluster as documents."""

from __future__ import annotations

from collections.abc import Sequence

from jaxscope import words
from jaxscope.analysis.cluster.preflight import SetupFact
from jaxscope.analysis.cluster.runs import ranges
from jaxscope.analysis.cluster.status import StateGroup
from jaxscope.view.base.document import Chapter, Document, Part
from jaxscope.view.base.table import Cell, Table

_COLUMNS = 16
"""Processes that have a column each; of more, each fact has its most frequent value."""
_VALUES = 3
"""Other values of a fact that are named."""
_ROWS = 16
_MESSAGES = 8


def preflight_document(facts: Sequence[SetupFact]) -> Document:
    """One row per fact; values that differ are marked."""
    processes = sorted(facts[0].by_process) if facts else []
    if len(processes) <= _COLUMNS:
        heads = ("", *[f"process {process}" for process in processes])
        table = Table(heads, tuple(_row(fact) for fact in facts))
    else:
        rows = tuple(_frequent(fact, len(processes)) for fact in facts)
        table = Table(("", "most frequent", "processes", "different"), rows)
    different = [fact for fact in facts if fact.differs]
    names = words.listed([fact.name for fact in different])
    odd = frozenset[int]().union(*[fact.odd for fact in different])
    verdict = [f"different: {names}"] if different else ["all equal"]
    if len(processes) > _COLUMNS and 0 < len(odd) < len(processes):
        verdict.insert(0, f"{len(processes) - len(odd)} of {len(processes)} same")
    count = words.count(len(processes), "process", "processes")
    part = Part(table=table, brief=True)
    chapters = (Chapter("preflight", "", parts=(part,)),)
    return Document("cluster", ("Pre-flight", count, *verdict), (), chapters)


def _row(fact: SetupFact) -> tuple[str, ...]:
    marked = fact.odd if fact.differs else frozenset[int]()
    return (
        fact.name,
        *[
            Cell(f"≠ {value}", "flag") if process in marked else Cell(value)
            for process, value in sorted(fact.by_process.items())
        ],
    )


def _frequent(fact: SetupFact, number: int) -> tuple[str, ...]:
    (value, most), *others = fact.values
    if not others:
        return fact.name, value, "all", ""
    if not fact.differs:
        return fact.name, f"{len(fact.values)} values", "", ""
    texts = [f"{ranges(who)}: {text}" for text, who in others[:_VALUES]]
    rest = [f"{len(others) - _VALUES} more values"] if len(others) > _VALUES else []
    different = Cell(f"≠ {'; '.join([*texts, *rest])}", "flag")
    return fact.name, value, f"{len(most)} of {number}", different


def status_document(groups: Sequence[StateGroup], busy: Sequence[int]) -> Document:
    """One row per state; `busy` are engines that did not answer."""
    number = len(busy) + sum(len(group.processes) for group in groups)
    rows = [_state_row(group) for group in groups[:_ROWS]]
    if busy:
        rows.append((ranges(busy), "busy", *[words.UNKNOWN] * 4))
    notes = list(dict.fromkeys(text for group in groups for text in group.messages))[:_MESSAGES]
    lead = ()
    if len(groups) > _ROWS:
        lead = (f"{_ROWS} of {len(groups)} states are shown, those of few processes first.",)
    heads = ("", "state", "guard", "compared", "divergences", "time")
    part = Part(table=Table(heads, tuple(rows), (3, 4, 5)), brief=True)
    return Document(
        "cluster",
        ("Cluster", words.count(number, "process", "processes")),
        tuple(_in_one_line(message) for message in notes),
        (Chapter("status", "", lead, (part,)),),
    )


def _state_row(group: StateGroup) -> tuple[str, ...]:
    who = ranges(group.processes)
    if group.seconds is None:
        return (who, group.state, *[words.UNKNOWN] * 4)
    took = words.seconds(group.seconds.high)
    if group.seconds.count > 1:
        took = f"≤ {took}"
    counts = (str(group.compared), str(group.divergences))
    return who, group.state, group.guard, *counts, took


def _in_one_line(message: str) -> str:
    """The message with the lines of the processes as a sentence behind it."""
    sentence, *places = message.split("\n  ")
    behind = "; ".join(places)
    return f"{sentence} {behind[:1].upper()}{behind[1:]}" if behind else sentence
