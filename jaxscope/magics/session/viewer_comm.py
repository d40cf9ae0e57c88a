"""The kernel's side of the viewer: displays, and answers to requests.

The front end opens a comm `jaxscope.report` with one request as its data:

    {"op": "stage", "report": ID, "program": 0, "kind": "hlo"}
    {"op": "figure", "report": ID, "kind": "stack"}
    {"op": "next", "report": ID}
    {"op": "fixes", "cell": 3}

It gets one message, `{"ok": true}` with one buffer (see `jaxscope.frontend.requests`), or
`{"ok": false, "why": "gone" | "forgotten" | "error", "message": SENTENCE}`; then the kernel
closes the comm, so that nothing has to be restored after a restart or a reload. While a cell runs,
JupyterLab runs the handler in a separate thread.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from IPython.core.magic import magics_class

from jaxscope.frontend.front_end import FrontEnd, front_end
from jaxscope.magics.family import Family
from jaxscope.magics.session.compile_feed import CompileFeed
from jaxscope.magics.session.report_store import ReportStore

if TYPE_CHECKING:
    from jaxscope.magics.config import JaxScope
    from jaxscope.results.report import Report

_REPORT = "jaxscope.results.report.Report"
"""By name: the class is imported when there is a report."""
REPORT_TARGET = "jaxscope.report"
EVENTS_TARGET = "jaxscope.events"
GONE = "The running kernel has dropped this report in favor of newer ones. Run the cell again."
FORGOTTEN = (
    "The running kernel never had this report: it was restarted, or jaxscope was reloaded. Run the "
    "cell again."
)


@magics_class
class Serving(Family):
    """The communication between the kernel and a viewer; no magics."""

    def __init__(self, shell: Any, scope: JaxScope) -> None:
        super().__init__(shell, scope)
        self.store = ReportStore()
        self.feed = CompileFeed(scope.session)
        self._targets = {REPORT_TARGET: self._asked, EVENTS_TARGET: self.feed.opened}
        self._comms = getattr(getattr(shell, "kernel", None), "comm_manager", None)
        if self._comms is not None:
            for name, handler in self._targets.items():
                self._comms.register_target(name, handler)
        shell.display_formatter.mimebundle_formatter.for_type(_REPORT, self._bundle)

    def close(self) -> None:
        self._shell.display_formatter.mimebundle_formatter.pop(_REPORT, None)
        if self._comms is not None:
            for name, handler in self._targets.items():
                self._comms.unregister_target(name, handler)
        self.feed.close()
        self.store.clear()

    def _bundle(self, report: Report) -> Any:
        """The MIME bundle of a report; never raises."""
        place = front_end()
        if place in (FrontEnd.VSCODE, FrontEnd.COLAB):
            # The plugin cannot be installed there. Without anywidget the HTML is shown.
            with contextlib.suppress(Exception):
                return report.widget().bundle()
        if place is not FrontEnd.JUPYTER:
            return report.bundle()
        found = report.bundle(self.store.put(report))
        self.store.shrink()
        return found

    def _asked(self, comm: Any, message: Mapping[str, Any]) -> None:
        from jaxscope.frontend.requests import reply

        try:
            data, buffers = reply(lambda: self._answer(message["content"]["data"]))
            comm.send(data, None, buffers)
        finally:
            comm.close()

    def _answer(self, request: Mapping[str, Any]) -> bytes:
        from jaxscope.frontend.requests import Refused, answer, packed

        if request.get("op") == "fixes":
            from jaxscope.magics.session.next_steps import recompilation_steps

            return packed({"steps": recompilation_steps(int(request["cell"]), self.scope.session)})
        name = request.get("report", "")
        report = self.store.get(name)
        if report is None:
            raise Refused(GONE, "gone") if self.store.had(name) else Refused(FORGOTTEN, "forgotten")
        if request.get("op") == "next":
            from jaxscope.magics.session.next_steps import finding_steps, next_steps

            session = self.scope.session
            return packed(
                {"steps": [*next_steps(report, session), *finding_steps(report, session)]}
            )
        found = answer(report, request)
        self.store.shrink()
        return found
