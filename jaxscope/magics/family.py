"""A family of magics: one subject, one class, one entry in the table of families."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from IPython.core.magic import Magics, magics_class

from jaxscope.capture.source.cell_names import running_number
from jaxscope.magics import display
from jaxscope.magics.options.parser import usage_error
from jaxscope.magics.progress import Status
from jaxscope.magics.session.session import ShownBy

if TYPE_CHECKING:
    from jaxscope.capture.options.settings import Settings
    from jaxscope.capture.run.context import Ran
    from jaxscope.magics.config import JaxScope
    from jaxscope.results.report import Report

Completer = Callable[[Any, Any], list[str]]
_NAME = re.compile(r"[^\W\d]\w*")


@magics_class
class Family(Magics):
    """Base of the families: the shell, and `scope` with the defaults and the session.

    A new family is a class in its own file and an entry in `FAMILIES`. It overrides the methods
    below as needed; the magics themselves use IPython's decorators.
    """

    def __init__(self, shell: Any, scope: JaxScope) -> None:
        super().__init__(shell=shell)
        self._shell = shell
        self.scope = scope

    def publish(self, ran: Ran, key: str, name: str | None, view: str, quiet: bool) -> Report:
        """Keep the report of a run under the key of its cell, bind it to `name`, display it."""
        from jaxscope.capture.timing.sampling import quiet_gc
        from jaxscope.results.report import Report

        report = Report(ran.record, ran.texts, ran.origin)
        self.keep(report, key)
        if name is not None:
            self._shell.user_ns[name] = report
        if ran.failure:
            display.say(ran.failure)
            return report
        # The run is over: its value must not be lost. Nothing of a display becomes garbage.
        with display.attempt("show the report"), quiet_gc():
            display.show(report, self._shell, view, quiet or self.scope.quiet)
            if not quiet and not self.scope.quiet and getattr(self._shell, "kernel", None) is None:
                self._say_next(report)
        return report

    def keep(self, report: Report, key: str) -> None:
        """Keep a report under the key of its cell."""
        shown_by = ShownBy(key, running_number(self._shell), self.scope.raw_cell)
        self.scope.session.add(report, shown_by)

    def _say_next(self, report: Report) -> None:
        """The offers of a report's buttons, for a terminal."""
        from jaxscope.magics.session.next_steps import command, next_steps

        commands = [command(step) for step in next_steps(report, self.scope.session)]
        if commands:
            display.say(f"next: {' · '.join(commands)}", dim=True)

    def namespace_of(self, line: str, local: Mapping[str, Any] | None) -> dict[str, Any]:
        """The namespace for a line magic; `local` has the variables of the function that it is in,
        as IPython gives them. Of these, the report keeps what the line names."""
        space = self._shell.user_ns
        if local is None or local is space:
            return space
        known = {**space, **local}
        return {name: known[name] for name in _NAME.findall(line) if name in known}

    def run_call(self, call: str, settings: Settings, magic: str, space: dict[str, Any]) -> Ran:
        """Run the call of a line magic, with the programs that any of them compiled for it."""
        __tracebackhide__ = True
        from jaxscope.capture.options.settings import SettingsError
        from jaxscope.capture.run import run
        from jaxscope.capture.source.frames import CALL_FILE

        with Status(self._shell) as status:
            try:
                key = f"line:{settings.composition} {call}"
                context = self.scope.session.context(key, status.say)
                context = replace(context, namespace=space)
                return run.expression(call, settings, context, magic)
            except SettingsError as error:  # in a cell it begins with the line
                words = str(error)
                raise usage_error(words[:1].upper() + words[1:]) from None
            except BaseException as error:
                raise display.without_our_frames(error, CALL_FILE)  # noqa: B904

    def completers(self) -> dict[str, Completer]:
        """Handlers of completion by the start of the line: `{"%%jaxjit": handler}`."""
        return {}

    def before_cell(self, info: Any) -> None:
        """Called before each cell runs, with IPython's ExecutionInfo."""

    def after_cell(self, result: Any) -> None:
        """Called after each cell has run, with IPython's ExecutionResult."""

    def close(self) -> None:
        """Uninstall what the family installed; called once, on unload."""
