"""A comparison as a widget; `ReportDiff.widget()` imports this module. Needs anywidget."""

from __future__ import annotations

from typing import Any

from jaxscope.difference import ReportDiff
from jaxscope.widget import ViewerWidget


class DiffWidget(ViewerWidget):
    """The viewer of a comparison; nothing is asked of the kernel."""

    def __init__(self, diff: ReportDiff, **traits: Any) -> None:
        self._diff = diff
        super().__init__(diff.payload(), **traits)

    @property
    def diff(self) -> ReportDiff:
        """What it shows."""
        return self._diff

    def beside(self) -> dict[str, Any]:
        return self._diff.bundle(viewer=False)
