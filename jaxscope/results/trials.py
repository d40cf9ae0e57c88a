"""The trials that a user holds: what each fix brought, and the cell with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from jaxscope.analysis.variants.verdicts import earlier
from jaxscope.model.variants import TrialVerdict, VariantTrial
from jaxscope.results.base import Result
from jaxscope.words import count

if TYPE_CHECKING:
    from jaxscope.view.base.document import Document
    from jaxscope.view.base.html import Html


class Trials(Result):
    """Fixes or compiler options that were tried on one program.

    Iterates over the trials; `better` has those with a gain.
    """

    noun = "trials"

    def __init__(self, trials: Sequence[VariantTrial], title: str = "", what: str = "fix") -> None:
        """`what` was tried: a fix, an option or a change."""
        self.trials = tuple(trials)
        self._title = title
        self._what = what

    def __iter__(self) -> Iterator[VariantTrial]:
        return iter(self.trials)

    def __len__(self) -> int:
        return len(self.trials)

    def __getitem__(self, index: int) -> VariantTrial:
        return self.trials[index]

    @property
    def better(self) -> tuple[VariantTrial, ...]:
        """The trials with a gain, without those of the same change as an earlier one."""
        return tuple([one for one in self._distinct() if one.verdict is TrialVerdict.BETTER])

    def _distinct(self) -> list[VariantTrial]:
        """The trials that were made, one for each change."""
        again = earlier(self.trials)
        made = [one for one in self.trials if one.verdict is not TrialVerdict.NOT_TRIED]
        return [one for one in made if one.number not in again]

    def summary(self) -> str:
        return " · ".join(self._first())

    def _first(self) -> list[str]:
        tried = self._distinct()
        plural = "fixes" if self._what == "fix" else f"{self._what}s"
        first = [self._title] if self._title else []
        first.append(f"{count(len(tried), self._what, plural)} tried")
        unclear = [one for one in tried if one.verdict is TrialVerdict.UNCLEAR]
        if self.better or not unclear:
            first.append(f"{len(self.better)} better" if self.better else "no gain")
        if unclear:
            first.append(f"{len(unclear)} unclear" if len(tried) > 1 else "unclear")
        return first

    def cell(self, number: int) -> str:
        """The text of a cell with the fix of that finding.

        Raises LookupError where it was not tried, or is in no cell.
        """
        found = next((one for one in self.trials if one.number == number), None)
        if found is None:
            raise LookupError(f"Finding {number} was not tried.")
        if not found.cell:
            raise LookupError(f"The fix of finding {number} is not in a cell.")
        return found.cell

    def _document(self) -> Document:
        from jaxscope.view.report.trials import document

        return document(self.trials, self._first())

    def static_html(self) -> Html:
        from jaxscope.view.base.html import tag
        from jaxscope.view.base.static import static_html
        from jaxscope.view.report.trials import apply_button

        found = static_html(lambda room: self._document())
        buttons = [apply_button(one) for one in self.better if one.cell]
        return tag("div", found, *buttons, class_="jxs-trials")
