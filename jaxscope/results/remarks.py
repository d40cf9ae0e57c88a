"""The result of `report.remarks()`: values that XLA did not fuse, with its reasons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from jaxscope.model.compiler.remarks import FusionRemark
from jaxscope.results.base import Result

if TYPE_CHECKING:
    from jaxscope.view.base.document import Document
    from jaxscope.view.base.html import Html


MUCH = 0.05
"""Share of the program's bytes, or of its time, from which a value is named."""
LEAST = 64_000
"""… and its own bytes: smaller ones stay in the caches next to the core."""


class Remarks(Result):
    """The values between two instructions that XLA left apart; a sequence of `FusionRemark`.

    The largest first.
    """

    noun = "list of fusion remarks"

    def __init__(
        self,
        title: str,
        remarks: tuple[FusionRemark, ...],
        seconds: float,
        bytes_accessed: float | None,
        seconds_per_byte: Mapping[str, float] | None = None,
        call_s: float = 0.0,
    ) -> None:
        """`seconds_per_byte` is of the memory-bound instructions of a profile, and `call_s` its
        seconds per call."""
        self._title = title
        self._remarks = remarks
        self._seconds = seconds
        self._bytes = bytes_accessed
        self._rates = seconds_per_byte or {}
        self._call_s = call_s

    @property
    def seconds(self) -> float:
        """Seconds of the compilation that this result cost."""
        return self._seconds

    def __len__(self) -> int:
        return len(self._remarks)

    def __iter__(self) -> Iterator[FusionRemark]:
        return iter(self._remarks)

    def __getitem__(self, index: int) -> FusionRemark:
        return self._remarks[index]

    def of_line(self, line: int) -> tuple[FusionRemark, ...]:
        """Those with a value that the line computes or reads."""
        return tuple(r for r in self if line in (*r.producer_lines, *r.consumer_lines))

    def costly(self) -> tuple[FusionRemark, ...]:
        """Those of 64 kB or more whose fusion would save more than 5 % of the program's bytes, or
        of its time where a profile has it.

        Both sides are loops: a value that a library call or a kernel of its own makes or reads has
        to be in memory.
        """
        return tuple(
            r
            for r in self
            if r.fusible
            and r.bytes >= LEAST
            and max(self.share(r) or 0, self.time_share(r) or 0) > MUCH
        )

    def share(self, remark: FusionRemark) -> float | None:
        """The share of the program's bytes that fusing the pair would save.

        The value is not read, and not written unless something else reads it. None where the cost,
        or the number of iterations of a loop around it, is unknown.
        """
        if not self._bytes or remark.times is None:
            return None
        moved = remark.bytes * (2 if remark.only_reader else 1)
        return remark.times * moved / self._bytes

    def time_share(self, remark: FusionRemark) -> float | None:
        """The share of a call's time that moving the value takes, from the program's profile.

        The time of a memory-bound instruction goes with its bytes; that of others is left out, so
        this is a lower bound. None without a profile, and where neither side is memory-bound.
        """
        sides = (remark.consumer, *([remark.producer] if remark.only_reader else []))
        rates = [self._rates[name] for name in sides if name in self._rates]
        if not rates or remark.times is None or not self._call_s:
            return None
        return remark.times * remark.bytes * sum(rates) / self._call_s

    def summary(self) -> str:
        """The number of values, and the price of the compilation."""
        from jaxscope.view.chapters.remarks import summary

        return summary(self._title, self)

    def _document(self) -> Document:
        from jaxscope.view.base.document import Document
        from jaxscope.view.chapters.remarks import costly_values, remark_list

        return Document("remarks", (self.summary(),), (), (*costly_values(self), remark_list(self)))

    def static_html(self) -> Html:
        """The list as HTML without script, as a saved notebook shows it."""
        from jaxscope.view.base.static import static_html

        return static_html(lambda room: self._document())
