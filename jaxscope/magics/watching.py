"""The magics of the compile log: %%jaxwatch, %jaxwatch on|off, %jaxlog."""

from __future__ import annotations

import argparse
import contextlib
import sys
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.core.magic import line_cell_magic, line_magic, magics_class, no_var_expand

from jaxscope.magics import display
from jaxscope.magics.cells import run_as_usual
from jaxscope.magics.family import Completer, Family
from jaxscope.magics.options import transforms
from jaxscope.magics.options.parser import (
    SECONDS,
    Parser,
    completer,
    documented,
    number,
    usage_error,
)

if TYPE_CHECKING:
    from jaxscope.magics.config import JaxScope
    from jaxscope.results.compile_log import CompileLog


_VIEWS = ("auto", "html", "text")
_COUNT = number(int, lambda n: n >= 1, "an integer of 1 or more")
_WATCH = Parser(
    "jaxwatch",
    "Run the cell as usual, then show its compilations, their causes and fixes.",
    ("%%jaxwatch [options]", "%jaxwatch on [--over SECONDS]", "%jaxwatch off"),
)
_WATCH.add_argument(
    "--over",
    type=SECONDS,
    metavar="SECONDS",
    help="With `on`: the threshold for a line under a cell.",
)
_WATCH.add_argument(
    "--slow-path",
    action="store_true",
    help="Also find slow calls that compile nothing (Python 3.12 or later).",
)
_WATCH.add_argument(
    "--compile-time", action="store_true", help="Also show the compile time by line and phase."
)
_WATCH.add_display("CompileLog", "--log", _VIEWS)
_WATCH_EXAMPLES = """
    %%jaxwatch                     run the cell, show its compilations
    train(batches)

    %%jaxwatch -o log              the same, with the log bound to a name
    train(batches)

    %%jaxwatch --slow-path         also slow calls that compile nothing
    y = step(x)

    %%jaxwatch --compile-time      also seconds by line, phase, and pass or kernel
    y = step(x)

    %jaxwatch on                   a line under each cell that compiles long, or recompiles
    %jaxwatch on --over 0.1        from 0.1 s
    %jaxwatch off                  no more lines; %jaxlog still has all compilations
"""
_LOG = Parser(
    "jaxlog",
    "Show all compilations since %load_ext jaxscope, with line, cause and fix.",
    ("%jaxlog [options]",),
)
_LOG.add_argument(
    "--by",
    choices=("line", "function", "cell"),
    help="A table of seconds by line, function or cell.",
)
_LOG.add_argument("--since", type=_COUNT, metavar="N", help="Only since cell In [N].")
_LOG.add_argument("--slowest", type=_COUNT, metavar="N", help="Only the N slowest compilations.")
_LOG.add_argument(
    "--figure", action="store_true", help="Also draw the seconds by function, and a timeline."
)
_LOG.add_display("CompileLog", "--log", _VIEWS)
_LOG_EXAMPLES = """
    %jaxlog                        everything, repeated recompilation in one row
    %jaxlog --since 12             since cell In [12]
    %jaxlog --slowest 5            the five slowest compilations
    %jaxlog --by function          seconds by function: trace, lower, XLA
    %jaxlog --figure               the same as a figure, with a timeline (needs plotly)
"""


@magics_class
class Watching(Family):
    """The magics that show compilations."""

    def __init__(self, shell: Any, scope: JaxScope) -> None:
        super().__init__(shell, scope)
        self._before: list[int] = []

    def completers(self) -> dict[str, Completer]:
        names = self._shell.user_ns
        watch, log = completer(_WATCH, lambda: names), completer(_LOG, lambda: names)
        return {"%%jaxwatch": watch, "%jaxwatch": watch, "%jaxlog": log}

    @no_var_expand
    @line_cell_magic
    @documented(_WATCH, _WATCH_EXAMPLES)
    def jaxwatch(self, line: str, cell: str | None = None) -> Any:
        __tracebackhide__ = True
        tokens, rest = transforms.split(line, _WATCH)
        if cell is None:
            words = line.split()
            switch, rest_of_line = (words[0], line.strip()[len(words[0]) :]) if words else ("", "")
            return self._switch(switch, rest_of_line)
        given = _WATCH.parse_args(tokens)
        if rest:
            raise usage_error(f"%%jaxwatch takes only options, not {rest!r}. {_WATCH.page()}")
        if given.over is not None:
            raise usage_error(
                f"--over belongs to `%jaxwatch on`: write `%jaxwatch on --over {given.over:g}` in "
                "its own cell."
            )
        transforms.check_name(given.log, "log")
        transforms.check_report_name_in(given.log, self._shell.transform_cell(cell))
        return self._watch(line, cell, given)

    @no_var_expand
    @line_magic
    @documented(_LOG, _LOG_EXAMPLES)
    def jaxlog(self, line: str) -> None:
        tokens, rest = transforms.split(line, _LOG)
        given = _LOG.parse_args(tokens)
        if rest:
            raise usage_error(f"%jaxlog takes only options, not {rest!r}. {_LOG.page()}")
        transforms.check_name(given.log, "log")
        if given.since is not None and given.since > self._shell.execution_count:
            raise usage_error(
                f"There is no cell In [{given.since}] yet; this is In "
                f"[{self.scope.session.cells.running}]."
            )
        log = self.scope.session.log()
        if given.since is not None:
            log = log.since(given.since)
        if given.slowest is not None:
            log = log.slowest(given.slowest)
        log.freeze()
        self._show(log, given, by=given.by, figure=given.figure)

    # How they work.

    def _switch(self, switch: str, rest: str) -> None:
        if switch not in ("on", "off", ""):
            raise usage_error(
                f"%jaxwatch takes on or off, not {switch!r}. To watch one cell, write %%jaxwatch "
                "on its first line."
            )
        tokens, left = transforms.split(rest, _WATCH)
        given = _WATCH.parse_args(tokens)
        of_cells = {"-o": given.log, "-q": given.quiet, "--view": given.view}
        of_cells["--slow-path"] = given.slow_path
        of_cells["--compile-time"] = given.compile_time
        wrong = left or next((option for option, value in of_cells.items() if value), "")
        if wrong:
            raise usage_error(f"%jaxwatch {switch} takes only --over SECONDS, not {wrong!r}.")
        if given.over is not None:
            self.scope.footer_s = given.over
        if switch:
            self.scope.footer = switch == "on"
        state = (
            f"on: cells that compile for {self.scope.footer_s:g} s or more, or recompile "
            "avoidably, get a one-line summary"
            if self.scope.footer
            else "off; %jaxlog shows all compilations"
        )
        display.say(f"jaxwatch is {state}.")

    def _watch(self, line: str, cell: str, given: argparse.Namespace) -> Any:
        __tracebackhide__ = True
        from jaxscope.results.compile_log import watching

        session = self.scope.session
        log = session.log(session.compiled)
        head = f"%%jaxwatch {line}".rstrip()
        try:
            with contextlib.ExitStack() as stack:
                if given.slow_path or given.compile_time:
                    log = stack.enter_context(
                        watching(slow_path=given.slow_path, compile_time=given.compile_time)
                    )
                return run_as_usual(self._shell, head, cell, self.scope.raw_cell)
        finally:
            # A cell that is not Python, or awaits, has not run.
            ran = not isinstance(sys.exc_info()[1], (SyntaxError, UsageError))
            # The cell has run: a failure here must not discard its value or its error.
            with display.attempt("show the log"):
                log.freeze()
                if ran and sys.exc_info()[1] is None:
                    running = session.cells.running
                    session.watched = running, session.log_of(running, log)
                if ran:
                    self._show(log, given)
                if ran and given.compile_time and (log or log.failed):
                    self._show_compile_time(log, given)

    def _show(
        self,
        log: CompileLog,
        given: argparse.Namespace,
        by: str | None = None,
        figure: bool = False,
    ) -> None:
        if given.log is not None:
            self._shell.user_ns[given.log] = log
        view = given.view or self.scope.view
        display.show_log(log, self._shell, view, given.quiet or self.scope.quiet, by)
        if figure:
            display.show_figure(log, self._shell)

    def _show_compile_time(self, log: CompileLog, given: argparse.Namespace) -> None:
        from jaxscope.model import Unavailable

        found = log.compile_time()
        if isinstance(found, Unavailable):
            display.say(f"There is no compile time by line: {found.reason}.")
        else:
            view, quiet = given.view or self.scope.view, given.quiet or self.scope.quiet
            display.show(found, self._shell, view, quiet)

    def before_cell(self, info: Any) -> None:
        """Note the length of the log, for the footer."""
        self._before.append(self.scope.session.compiled)

    def after_cell(self, result: Any) -> None:
        """One line under a cell that compiled for long, or recompiled avoidably."""
        since = self._before.pop() if self._before else self.scope.session.compiled
        if not self.scope.footer or self._before or self.scope.session.compiled == since:
            return
        with display.attempt("read the log"):  # must not look like the cell's failure
            session = self.scope.session
            watched = session.log(since)
            log = watched.log
            # %%jaxwatch and %%jaxjit have just shown it.
            cell = getattr(getattr(result, "info", None), "raw_cell", "") or ""
            shown = cell.lstrip().startswith(("%%jaxwatch", "%%jaxjit"))
            from jaxscope.view.compiles.rows import advised, footer

            # New code has to be compiled: a footer only for what could be avoided.
            advice = advised(log)
            if not shown and (log.total_s >= self.scope.footer_s or advice):
                display.say(footer(log))
                number = session.cells.running
                if advice and session.numbered(number) is None:
                    watched.freeze()
                    session.watched = number, session.log_of(number, watched)
