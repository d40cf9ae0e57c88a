"""Values that XLA did not fuse into their consumers, as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from jaxscope import words
from jaxscope.model.compiler.remarks import FusionRemark
from jaxscope.view.base.document import SEPARATOR, Chapter, Part
from jaxscope.view.base.table import Table

MUCH = 0.05
"""Share of the program's bytes from which the first line names a value."""


class _Remarks(Protocol):
    @property
    def seconds(self) -> float: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[FusionRemark]: ...
    def share(self, remark: FusionRemark) -> float | None: ...


def summary(title: str, remarks: _Remarks) -> str:
    """The first line of the list."""
    parts = [title, f"{words.count(len(remarks), 'value')} not fused"]
    much = sum((remarks.share(one) or 0) > MUCH for one in remarks)
    if much:
        parts.append(f"{much} of more than {words.percent(MUCH)} of the bytes")
    return SEPARATOR.join([*parts, f"compiled once more: {words.seconds(remarks.seconds)}"])


def remark_list(remarks: _Remarks) -> Chapter:
    """The values by their bytes, with the lines on both sides and the reason."""
    table = Table.of(
        list(remarks),
        ("<", "line", lambda r: _lines(r.producer_lines)),
        ("<", "producer", lambda r: f"%{r.producer}"),
        ("<", "read by line", lambda r: _lines(r.consumer_lines)),
        ("<", "consumer", lambda r: f"%{r.consumer}"),
        (">", "size", lambda r: words.size(r.bytes)),
        (">", "of the bytes", lambda r: words.percent(remarks.share(r))),
        ("<", "not fused because", lambda r: r.reason),
    )
    return Chapter("remarks", "", parts=(Part(table=table, brief=True),))


def _lines(lines: Sequence[int]) -> str:
    return words.names([str(line) for line in lines])
