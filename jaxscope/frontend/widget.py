"""The report as a widget: for VS Code, Colab, and to be composed with other widgets.

Needs anywidget (`pip install jaxscope[widget]`); `Report.widget()` imports this module.

Requests of the front end and their answers, each request with its own number:

    {"request": 1, "op": "stage", "program": 0, "kind": "hlo"}
    {"request": 2, "op": "figure", "kind": "stack"}

    {"request": 1, "ok": true} and one buffer (see `jaxscope.frontend.requests`)
    {"request": 2, "ok": false, "why": "error", "message": SENTENCE}
"""

from __future__ import annotations

import functools
from typing import Any

import anywidget
import traitlets

from jaxscope.frontend.requests import answer, reply
from jaxscope.frontend.shown import ShownReport, ShownResult
from jaxscope.view.bundle.page import built


class ViewerWidget(anywidget.AnyWidget):
    """The viewer of a payload, with static HTML for a saved notebook without a kernel."""

    # Read when the first widget is made, since a checkout may have no viewer.
    _esm = traitlets.Unicode("").tag(sync=True)
    _css = traitlets.Unicode("").tag(sync=True)
    payload = traitlets.Dict().tag(sync=True)
    selected_line = traitlets.Int(None, allow_none=True, min=1).tag(sync=True)

    def __init__(self, shown: ShownResult, payload: dict[str, Any], **traits: Any) -> None:
        self._shown = shown
        script, style = _viewer()
        super().__init__(payload=payload, _esm=script, _css=style, **traits)

    def bundle(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Data and metadata of a display."""
        data, metadata = super()._repr_mimebundle_() or ({}, {})
        return {**data, **self._shown.bundle(viewer=False)}, metadata

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        return self.bundle()


class ReportWidget(ViewerWidget):
    """The viewer of one report.

    `selected_line` is the line of the first source that is pinned in the viewer, or None. It may be
    set from either side, and observed like any trait:

        w = report.widget()
        w.observe(lambda change: print(change["new"]), "selected_line")
        w.selected_line = 3
    """

    def __init__(self, report: ShownReport, **traits: Any) -> None:
        self._report = report
        super().__init__(report, report.payload(report.id), **traits)
        self.on_msg(self._asked)

    @property
    def report(self) -> ShownReport:
        """The report shown."""
        return self._report

    def _asked(self, widget: Any, content: Any, buffers: Any) -> None:
        number = content.get("request") if isinstance(content, dict) else None
        message, buffers = reply(lambda: answer(self._report, content))
        self.send({"request": number, **message}, buffers)


class DiffWidget(ViewerWidget):
    """The viewer of a diff; it sends no requests."""

    def __init__(self, diff: ShownResult, **traits: Any) -> None:
        self._diff = diff
        super().__init__(diff, diff.payload(), **traits)

    @property
    def diff(self) -> ShownResult:
        """The diff shown."""
        return self._diff


@functools.cache
def _viewer() -> tuple[str, str]:
    script, style = built("widget.js"), built("widget.css")
    if script is None or style is None:
        raise FileNotFoundError(
            "The widget needs the viewer, which is not built in this checkout: run `make setup`."
        )
    return script, style
