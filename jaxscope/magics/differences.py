"""`%jaxdiff`: the differences between two runs."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from IPython.core.magic import line_magic, magics_class, no_var_expand

from jaxscope.magics import display
from jaxscope.magics.family import Completer, Family
from jaxscope.magics.options import transforms
from jaxscope.magics.options.parser import Parser, completer, documented, usage_error

if TYPE_CHECKING:
    from jaxscope.results.report import Report

_PARSER = Parser(
    "jaxdiff",
    "Compare two runs: time, work, memory, findings, code, and each stage by structure, so that\n"
    "renumbered names do not count as changes.",
    ("%jaxdiff [options] [BEFORE] [AFTER]",),
)
_PARSER.add_display("ReportDiff")
_EXAMPLES = """
    %jaxdiff                  the last two runs of the cell that ran last
    %jaxdiff before           a report that `-o before` bound, against the last report
    %jaxdiff before after     two reports
    %jaxdiff 3 5              the reports of In [3] and In [5]
    %jaxdiff -o d before      keeps it: d.stage("optimized_hlo").groups, d.quantities
"""
_SAVED = (".json", ".json.gz")
_NAME_THEM = (
    "Keep reports with `-o` (`%%jaxjit -o before`) and name two of them: %jaxdiff before after."
)


def _read(line: str) -> tuple[argparse.Namespace, list[str]]:
    """The options and the names, in any order: no name begins with a dash."""
    tokens: list[str] = []
    names: list[str] = []
    rest = line.replace(",", " ")
    while rest:
        options, rest = transforms.split(rest, _PARSER)
        tokens += options
        name, _, rest = rest.partition(" ")
        names += [name] if name else []
    return _PARSER.parse_args(tokens), names


@magics_class
class Differences(Family):
    """Comparisons of reports."""

    def completers(self) -> dict[str, Completer]:
        flags = completer(_PARSER, dict[str, Any])

        def complete(shell: Any, event: Any) -> list[str]:
            from jaxscope.results.report import Report

            words = event.line[: len(event.line) - len(event.symbol)].split()
            if words and words[-1] in ("--view", "-o", "--report"):
                return flags(shell, event)
            names = self._shell.user_ns.items()
            held = [name for name, value in names if isinstance(value, Report)]
            return [*[name for name in held if not name.startswith("_")], *flags(shell, event)]

        return {"%jaxdiff": complete}

    @no_var_expand
    @line_magic
    @documented(_PARSER, _EXAMPLES)
    def jaxdiff(self, line: str) -> None:
        __tracebackhide__ = True
        given, names = _read(line)
        transforms.check_name(given.report, "diff")
        before, after = self._reports(names)
        from jaxscope.results.report_diff import compare_reports

        with display.attempt("compare the reports"):  # they may be of a broken or foreign file
            found = compare_reports(before, after)
            if given.report is not None:
                self._shell.user_ns[given.report] = found
            view, quiet = given.view or self.scope.view, given.quiet or self.scope.quiet
            with display.attempt("show the diff"):
                display.show(found, self._shell, view, quiet)

    def _reports(self, names: list[str]) -> tuple[Report, Report]:
        """The two reports to compare: those named, else the last ones."""
        if len(names) > 2:
            raise usage_error(
                f"%jaxdiff compares two reports, but got {len(names)} names: {' '.join(names)}."
            )
        named = [self._named(name) for name in names]
        if len(named) == 2:
            return named[0], named[1]
        session = self.scope.session
        if not session.reports:
            raise usage_error(
                "There is no report yet: run a %%jaxjit cell, change it, run it again, then "
                "%jaxdiff."
            )
        last = session.reports[-1]
        if named:
            if named[0] is last:
                raise usage_error(
                    f"`{names[0]}` is the last report itself. Run the cell again, or name two "
                    "reports: %jaxdiff before after."
                )
            return named[0], last
        runs = session.last_runs()
        if len(runs) < 2:
            raise usage_error(
                f"There is only one report of the cell that ran last ({last.record.title}). Run "
                f"the cell again. {_NAME_THEM}"
            )
        return runs[0], runs[1]

    def _of_target(self, name: str) -> Report:
        """The last report of a program for a target."""
        found: dict[str, Report] = {}
        for report in self.scope.session.reports:
            for program in report.programs:
                if program.target is not None:
                    found[program.target.target] = report
        if name not in found:
            known = f"; there are {', '.join(found)}" if found else ""
            raise usage_error(f"There is no report for the target {name}{known}. {_NAME_THEM}")
        return found[name]

    def _named(self, name: str) -> Report:
        from jaxscope.results.report import Report

        space = self._shell.user_ns
        if name.isdecimal():
            found = self.scope.session.numbered(int(name))
            if found is None:
                several = self.scope.session.made_reports(int(name))
                many = "more than one report" if several else "no report"
                raise usage_error(f"There is {many} of In [{name}]. {_NAME_THEM}")
            return found
        if ":" in name or name == "cpu":
            return self._of_target(name)
        if not transforms.is_name(name):
            fix = (
                f" Load it first: before = jaxscope.load({name!r})."
                if name.endswith(_SAVED)
                else ""
            )
            raise usage_error(
                f"%jaxdiff takes names of variables, and {name!r} is not a name.{fix}"
            )
        if name not in space:
            raise usage_error(f"There is no variable `{name}`. {_NAME_THEM}")
        value = space[name]
        if not isinstance(value, Report):
            kind = type(value).__name__
            raise usage_error(f"`{name}` is not a report; its type is {kind}. {_NAME_THEM}")
        return value
