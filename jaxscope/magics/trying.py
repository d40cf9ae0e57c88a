"""`%jaxtry` and `%jaxflags`: the fixes of a report, and XLA's options, tried and measured."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from IPython.core.magic import line_magic, magics_class, needs_local_scope, no_var_expand

from jaxscope.magics import display
from jaxscope.magics.family import Completer, Family
from jaxscope.magics.options import transforms
from jaxscope.magics.options.parser import (
    SECONDS,
    Parser,
    completer,
    documented,
    require_jax,
    usage_error,
)
from jaxscope.magics.progress import Status

if TYPE_CHECKING:
    from jaxscope.results.compile_log import CompileLog
    from jaxscope.results.report import Report
    from jaxscope.results.trials import Trials

_TRY = Parser(
    "jaxtry",
    "Apply the fix of each finding of the last report, or of each recompilation of the last\n"
    "%%jaxwatch, to a copy, compare the results, and time it against the original. No variable\n"
    "changes.",
    ("%jaxtry [options] [FINDING ...]",),
)
_TRY.add_display("Trials", "--report", ("auto", "html", "text"))
_TRY.add_argument("--apply", action="store_true", help="Insert a cell with the fix.")
_TRY.add_argument(
    "--time-limit", type=SECONDS, default=30.0, metavar="S", help="Seconds of each fix."
)
_TRY.add_argument("--of", type=int, metavar="N", help="The report or the compilations of In [N].")
_TRY.add_argument(
    "--bf16", action="store_true", help="Try bfloat16 instead of the fixes; the results may differ."
)
_TRY_EXAMPLES = """
    %jaxtry                 all findings of the last report
    %jaxtry 3               the third
    %jaxtry --apply 3       and insert a cell with it
    %jaxtry --of 7          the recompilations of In [7], which ran without a magic
    %jaxtry --bf16          the inputs, and only the products, in bfloat16
    report.try_fixes()      the same for a report that you keep
"""
_FLAGS = Parser(
    "jaxflags",
    "Time a call under XLA options that are known to matter on its backend, each against the\n"
    "default, and the best two together. Without a call, the program of the last report.",
    ("%jaxflags [options] [f(x)]",),
)
_FLAGS.add_display("Trials", "--report", ("auto", "html", "text"))
_FLAGS.add_argument(
    "--time-limit", type=SECONDS, default=120.0, metavar="S", help="Seconds of the sweep."
)
_FLAGS_EXAMPLES = """
    %jaxflags loss(w, x)    the options for one call
    %jaxflags               those for the program of the last report
"""
_NO_REPORT = "There is no report yet: run a %%jaxjit cell or %jaxjit f(x) first."
_NOTHING = "In [{}] has no report, and recompiled nothing."


def _parsed(line: str, parser: Parser) -> tuple[Namespace, str]:
    """The options of a line, and the rest of it."""
    tokens, rest = transforms.split(line, parser)
    given = parser.parse_args(tokens)
    transforms.check_name(given.report, "trials")
    return given, rest


@magics_class
class Trying(Family):
    """Trials of fixes and options."""

    def completers(self) -> dict[str, Completer]:
        space = lambda: self._shell.user_ns  # noqa: E731
        return {"%jaxtry": completer(_TRY, space), "%jaxflags": completer(_FLAGS, space)}

    @no_var_expand
    @line_magic
    @documented(_TRY, _TRY_EXAMPLES)
    def jaxtry(self, line: str) -> None:
        __tracebackhide__ = True
        given, rest = _parsed(line, _TRY)
        words = rest.replace(",", " ").split()
        if wrong := [word for word in words if not word.isdecimal()]:
            raise usage_error(f"%jaxtry takes numbers of findings, and {wrong[0]!r} is not one.")
        session = self.scope.session
        if not session.reports and session.watched is None and given.of is None:
            raise usage_error(_NO_REPORT)
        require_jax("jaxtry")
        cell, subject = self._subject(given.of)
        numbers = [int(word) for word in words]
        limit = given.time_limit
        if given.bf16:
            found = self._bfloat16(subject, numbers, limit)
        else:
            found = self._tried(lambda say: subject.try_fixes(*numbers, time_limit=limit, say=say))
            if cell is not None:
                session.note_trials(cell, found)
        self._show(found, given)
        if given.apply:
            self._apply(found, numbers)

    @no_var_expand
    @needs_local_scope
    @line_magic
    @documented(_FLAGS, _FLAGS_EXAMPLES)
    def jaxflags(self, line: str, local_ns: Mapping[str, Any] | None = None) -> None:
        __tracebackhide__ = True
        given, call = _parsed(line, _FLAGS)
        require_jax("jaxflags")
        from jaxscope.bench.variants.flags import sweep
        from jaxscope.capture.options.settings import Settings

        if call:
            ran = self.run_call(
                call, Settings(runs=1), "jaxflags", self.namespace_of(line, local_ns)
            )
            record, origin = ran.record, ran.origin
        elif self.scope.session.reports:
            last = self.scope.session.reports[-1]
            record, origin = last.record, last.origin
        else:
            raise usage_error(_NO_REPORT)
        self._show(self._tried(lambda say: sweep(record, origin, given.time_limit, say)), given)

    def _subject(self, number: int | None) -> tuple[int | None, Report | CompileLog]:
        """The report or the log whose fixes are tried, and the number of its cell.

        The number is None where the cell has another subject: its fixes have other numbers.
        """
        session = self.scope.session
        if number is None:
            if session.watched is not None:
                cell, log = session.watched
                return cell if session.numbered(cell) is None else None, log
            shown_by = session.shown_by(session.reports[-1])
            return None if shown_by is None else shown_by.number, session.reports[-1]
        report = session.numbered(number)
        if report is not None:
            return number, report
        log = session.log_of(number)
        if not log.recompiles:
            raise usage_error(_NOTHING.format(number))
        return number, log

    def _bfloat16(self, subject: Report | CompileLog, numbers: list[int], limit: float) -> Trials:
        from jaxscope.bench.variants.bfloat16 import try_bfloat16
        from jaxscope.results.report import Report

        if numbers or not isinstance(subject, Report):
            raise usage_error("--bf16 tries the program of a report: give it no findings.")
        return self._tried(lambda say: try_bfloat16(subject.record, subject.origin, limit, say))

    def _tried(self, work: Callable[[Callable[[str], None]], Trials]) -> Trials:
        __tracebackhide__ = True
        from jaxscope.bench.variants.trial import TrialError
        from jaxscope.capture.run.logged_cell import NoCellError

        with Status(self._shell) as status:
            try:
                return work(status.say)
            except (TrialError, NoCellError) as error:
                raise usage_error(str(error)) from None

    def _show(self, found: Trials, given: Namespace) -> None:
        if given.report is not None:
            self._shell.user_ns[given.report] = found
        with display.attempt("show the trials"):
            view, quiet = given.view or self.scope.view, given.quiet or self.scope.quiet
            display.show(found, self._shell, "auto" if view == "widget" else view, quiet)

    def _apply(self, found: Trials, numbers: list[int]) -> None:
        __tracebackhide__ = True
        chosen = numbers or [one.number for one in found.better]
        if len(chosen) != 1:
            raise usage_error("--apply needs the number of one finding: %jaxtry --apply 3.")
        try:
            self._shell.set_next_input(found.cell(chosen[0]))
        except LookupError as error:
            raise usage_error(str(error)) from None
