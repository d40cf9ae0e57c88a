"""The result of `report.passes()`: XLA's passes, and the way of a line through them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from jaxscope.model import Equation
from jaxscope.model.compiler.passes import CompilerPass, FollowedInstructions, PassComparison
from jaxscope.results.base import Result

if TYPE_CHECKING:
    from jaxscope.analysis.passes.snapshots import Snapshots
    from jaxscope.analysis.passes.trail import Trail
    from jaxscope.view.base.document import Document
    from jaxscope.view.base.html import Html


class Passes(Result):
    """The passes that changed a program, in order; a sequence of `CompilerPass`.

    Passes that changed nothing are left out.
    """

    noun = "list of passes"

    def __init__(
        self,
        title: str,
        snapshots: Snapshots,
        trail: Callable[[], Trail],
        equations: Sequence[Equation],
        first_s: float | None,
    ) -> None:
        self._title = title
        self._snapshots = snapshots
        self._trail = trail
        self._equations = equations
        self._first_s = first_s

    @property
    def seconds(self) -> float:
        """Seconds of the compilation that this result cost."""
        return self._snapshots.seconds

    def __len__(self) -> int:
        return len(self._snapshots.passes)

    def __iter__(self) -> Iterator[CompilerPass]:
        return iter(self._snapshots.passes)

    def __getitem__(self, index: int) -> CompilerPass:
        return self._snapshots.passes[index]

    def before(self, number: int) -> str:
        """The HLO before the pass of that number (from 1).

        Raises IndexError for another number, and LookupError for a text that was not kept.
        """
        return self._snapshots.text(self._checked(number) - 1)

    def after(self, number: int) -> str:
        """The HLO after the pass of that number (from 1); raises as `before` does."""
        return self._snapshots.text(self._checked(number))

    def diff(self, number: int) -> PassDiff:
        """The program before and after the pass of that number (from 1), by what it changed.

        Raises as `before` does.

        Example:
            >>> print(report.passes().diff(9).to_text())
        """
        from jaxscope.analysis.passes.pass_diff import pass_diff

        return PassDiff(pass_diff(self._snapshots, self._checked(number)))

    def follow(self, subject: int | str, source: int = 0) -> Followed:
        """The instructions of a source line, or the instruction of that name, through all passes.

        Raises LookupError for a line without equations and for an unknown instruction.

        Example:
            >>> print(report.passes().follow(3).to_text())
            >>> print(report.passes().follow("multiply_add_fusion").to_text())
        """
        from jaxscope.analysis.links.line_links import equations_of_line
        from jaxscope.analysis.passes.follow import follow_equations, follow_instruction

        if isinstance(subject, str):
            name = subject.removeprefix("%")
            return Followed(follow_instruction(self._snapshots, self._trail(), name))
        equations = equations_of_line(tuple(self._equations), subject, source)
        if not equations:
            raise LookupError(f"Line {subject} has no equation of this program.")
        found = follow_equations(self._snapshots, self._trail(), equations, f"line {subject}")
        return Followed(found)

    def summary(self) -> str:
        """The number of passes, and the price of the compilation."""
        from jaxscope.view.chapters.passes import summary

        return summary(self._title, self._snapshots, self._first_s)

    def _document(self) -> Document:
        from jaxscope.view.base.document import Document
        from jaxscope.view.chapters.passes import pass_list

        return Document("passes", (self.summary(),), (), (pass_list(self._snapshots.passes),))

    def static_html(self) -> Html:
        """The list as HTML without script, as a saved notebook shows it."""
        from jaxscope.view.base.static import static_html

        return static_html(lambda room: self._document())

    def _checked(self, number: int) -> int:
        if not 1 <= number <= len(self):
            raise IndexError(f"There is no pass {number}: the passes are 1 to {len(self)}.")
        return number


class Followed(Result):
    """The instructions of a line through the passes."""

    noun = "trail of a line"

    def __init__(self, data: FollowedInstructions) -> None:
        self._data = data

    @property
    def data(self) -> FollowedInstructions:
        """The frozen data."""
        return self._data

    def summary(self) -> str:
        """The number of instructions before and after, and of the passes that changed them."""
        from jaxscope.view.chapters.passes import followed_summary

        return followed_summary(self._data)

    def _document(self) -> Document:
        from jaxscope.view.base.document import Document
        from jaxscope.view.chapters.passes import followed

        return Document("passes", (self.summary(),), (), (followed(self._data),))

    def static_html(self) -> Html:
        """The trail as HTML without script, as a saved notebook shows it."""
        from jaxscope.view.base.static import static_html

        return static_html(lambda room: self._document())


class PassDiff(Result):
    """The program before and after one pass."""

    noun = "diff of a pass"

    def __init__(self, data: PassComparison) -> None:
        self._data = data

    @property
    def data(self) -> PassComparison:
        """The frozen data."""
        return self._data

    def summary(self) -> str:
        """The pass, and the number of its changed lines."""
        from jaxscope.view.diff.passes import pass_title

        return pass_title(self._data)

    def _document(self) -> Document:
        from jaxscope.view.base.document import Document
        from jaxscope.view.diff.passes import pass_chapter

        return Document("passes", (self.summary(),), (), (pass_chapter(self._data),))

    def static_html(self) -> Html:
        """The changed lines as HTML without script, as a saved notebook shows them."""
        from jaxscope.view.base.static import static_html

        return static_html(lambda room: self._document())
