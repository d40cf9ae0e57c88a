"""One program compiled for several targets and meshes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jaxscope.results.base import Result
from jaxscope.results.report import Report
from jaxscope.words import count

if TYPE_CHECKING:
    from jaxscope.view.base.document import Document
    from jaxscope.view.base.html import Html


@dataclass(frozen=True, slots=True)
class TargetRow:
    """A target with its report, or with the reason why there is none."""

    target: str
    mesh: str
    """`data=2,model=2`; empty for one device."""
    report: Report | None
    why: str = ""

    @property
    def name(self) -> str:
        """`tpu:v5e:2x2 data=2,model=2`."""
        return f"{self.target} {self.mesh}".rstrip()


class TargetTable(Result):
    """Reports of one program by target: `table["tpu:v5e"]`, with `table[0]` the first."""

    noun = "table of targets"

    def __init__(self, rows: Sequence[TargetRow], title: str = "") -> None:
        self.rows = tuple(rows)
        self._title = title

    def __iter__(self) -> Iterator[TargetRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, target: str | int) -> Report:
        """The report of a target, by its name, with its mesh where it has several, or its number.

        Raises LookupError where there is none.
        """
        if isinstance(target, int):
            found = self.rows[target]
        else:
            rows = [row for row in self.rows if target in (row.target, row.name)]
            if not rows:
                known = ", ".join(row.name for row in self.rows)
                raise LookupError(f"There is no target {target!r}; there are {known}.")
            found = rows[0]
        if found.report is None:
            raise LookupError(f"There is no report for {found.name}: {found.why}")
        return found.report

    def summary(self) -> str:
        return " · ".join(self._first())

    def _first(self) -> list[str]:
        known = [row for row in self.rows if row.report is not None]
        fits = [found for row in known if (found := _fits(row)) is not None]
        first = [self._title] if self._title else []
        meshes = {row.mesh for row in self.rows}
        first += [f"mesh {mesh}" for mesh in meshes if mesh and len(meshes) == 1]
        first.append(f"{count(len(known), 'target')} compiled, none run")
        if len(known) < len(self.rows):
            first.append(f"{len(self.rows) - len(known)} not compiled")
        if fits:
            first.append(f"fits {sum(fits)} of {len(fits)}")
        return first

    def _document(self) -> Document:
        from jaxscope.view.report.targets import TargetFacts, document

        rows = [
            TargetFacts(
                row.target, row.mesh, None if row.report is None else row.report.record, row.why
            )
            for row in self.rows
        ]
        return document(rows, self._first())

    def static_html(self) -> Html:
        from jaxscope.view.base.static import static_html

        return static_html(lambda room: self._document())


def _fits(row: TargetRow) -> bool | None:
    """Whether its programs fit; None where that is unknown."""
    programs = () if row.report is None else row.report.programs
    known = [one.target.fits for one in programs if one.target is not None]
    if False in known:
        return False
    return None if not known or None in known else True
