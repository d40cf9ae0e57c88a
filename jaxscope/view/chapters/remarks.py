"""Values that XLA did not fuse into their consumers, as a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from jaxscope import words
from jaxscope.model.compiler.remarks import FusionRemark
from jaxscope.view.base.document import SEPARATOR, Advice, Chapter, Part
from jaxscope.view.base.table import Column, Table


class _Remarks(Protocol):
    @property
    def seconds(self) -> float: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[FusionRemark]: ...
    def share(self, remark: FusionRemark) -> float | None: ...
    def time_share(self, remark: FusionRemark) -> float | None: ...
    def costly(self) -> Sequence[FusionRemark]: ...


def summary(title: str, remarks: _Remarks) -> str:
    """The first line of the list."""
    parts = [title, f"{words.count(len(remarks), 'value')} not fused"]
    if much := len(remarks.costly()):
        of = "the bytes or the time" if _timed(remarks) else "the bytes"
        parts.append(f"{words.count(much, 'loop')} apart for more than 5 % of {of}")
    return SEPARATOR.join([*parts, f"compiled once more: {words.seconds(remarks.seconds)}"])


def costly_values(remarks: _Remarks) -> Iterator[Chapter]:
    """A sentence on each value between two loops that costs much."""
    advice = tuple(
        Advice(words.percent(remarks.share(one)), _sentence(one, remarks.time_share(one)), "")
        for one in remarks.costly()
    )
    if advice:
        yield Chapter("findings", "", parts=(Part(advice=advice, brief=True),))


def _sentence(one: FusionRemark, time_share: float | None) -> str:
    made, read = (", ".join(map(str, lines)) for lines in (one.producer_lines, one.consumer_lines))
    lines = made if made == read or not read else f"{made or 'unknown'} → {read}"
    where = f"line {lines}: " if lines else ""
    way = "is written and read" if one.only_reader else "is read"
    why = one.reason or "XLA gave no reason"
    size = words.size(one.bytes)
    if time_share is not None:
        size += f", at least {words.percent(time_share)} of the time"
    return f"{where}`%{one.producer}` ({size}) {way} for `%{one.consumer}`: {why}"


_Alike = tuple[FusionRemark, ...]


def remark_list(remarks: _Remarks) -> Chapter:
    """The values by their bytes, with the lines on both sides and the reason.

    Those of the same lines and for the same reason are one row under the first, such as of each
    iteration of a Python loop.
    """
    time: list[Column[_Alike]] = []
    if _timed(remarks):
        time.append((">", "of the time ≥", lambda r: _share(map(remarks.time_share, r))))
    groups: dict[tuple[object, ...], list[FusionRemark]] = {}
    for one in remarks:
        key = (one.producer_lines, one.consumer_lines, one.reason, one.bytes)
        groups.setdefault(key, []).append(one)
    alike: list[Column[_Alike]] = []
    if len(groups) < len(remarks):
        alike.append((">", "values", lambda r: str(len(r))))
    table = Table.of(
        [tuple(group) for group in groups.values()],
        ("<", "line", lambda r: _lines(r[0].producer_lines)),
        ("<", "producer", lambda r: f"%{r[0].producer}"),
        ("<", "read by line", lambda r: _lines(r[0].consumer_lines)),
        ("<", "consumer", lambda r: f"%{r[0].consumer}"),
        *alike,
        (">", "size", lambda r: words.size(r[0].bytes)),
        (">", "of the bytes", lambda r: _share(map(remarks.share, r))),
        *time,
        ("<", "not fused because", lambda r: r[0].reason),
    )
    return Chapter("remarks", "", parts=(Part(table=table, brief=True),))


def _share(shares: Iterable[float | None]) -> str:
    """Their sum; empty where one is unknown."""
    known = list(shares)
    return words.percent(None if None in known else sum(filter(None, known)))


def _timed(remarks: _Remarks) -> bool:
    return any(remarks.time_share(one) is not None for one in remarks)


def _lines(lines: Sequence[int]) -> str:
    return words.names([str(line) for line in lines])
