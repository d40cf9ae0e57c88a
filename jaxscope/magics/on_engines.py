"""`--engines all`: a cell of the notebook on every engine of the cluster."""

from __future__ import annotations

import ast
import contextlib
import re
import sys
from typing import TYPE_CHECKING, Any, cast

from jaxscope.analysis.cluster.runs import ranges, said
from jaxscope.analysis.python.cell import CellSyntax
from jaxscope.magics import display
from jaxscope.magics.options.parser import usage_error
from jaxscope.view.base.visible import visible

if TYPE_CHECKING:
    from jaxscope.magics.family import Family
    from jaxscope.results.base import Result

_HERE = re.compile(
    r"(?:^|(?<=\s))(?:(?:--engines|-o|--report|--view)(?:\s+|=)\S+|-q|--quiet)(?=\s|$)"
)
"""Options that apply to the notebook, not to the engines."""


def run_on_engines(
    family: Family, magic: str, line: str, rest: str, cell: str | None, given: Any, *extra: str
) -> None:
    """Run a magic on every engine, show one result, and raise where it failed on any.

    `rest` is the end of the line that is not an option; `extra` are options for the engines.
    """
    __tracebackhide__ = True
    from jaxscope.capture.cluster.process import ClusterError
    from jaxscope.cluster.engine_cell import RESULT

    end = len(line) - len(rest) if rest and line.rstrip().endswith(rest) else len(line)
    options = " ".join(_HERE.sub(" ", line[:end]).replace("-- ", " ").split())
    head = " ".join(filter(None, (options, *extra, f"-q -o {RESULT}", rest)))
    text = f"%{magic} {head}" if cell is None else f"%%{magic} {head}\n{cell}"
    try:
        cluster = family.scope.attached()
        if magic == "jaxbench":
            found: Any = cluster.bench(text, _names(f"{rest}\n{cell or ''}"), say)
            errors = found.errors
        else:
            found = cluster.run_cell(text, say, f"%%{magic} {line}".rstrip())
            errors = {run.process: run.error for run in found.runs if run.error}
            print_output(found.runs)
    except ClusterError as error:
        raise usage_error(str(error)) from None
    _show(family, found, given)
    if errors:
        raise usage_error(failed(errors))


def _show(family: Family, found: Result, given: Any) -> None:
    shell, scope = cast("Any", family.shell), family.scope
    if given.report is not None:
        shell.user_ns[given.report] = found
    with display.attempt("show the result"):
        display.show(found, shell, given.view or scope.view, given.quiet or scope.quiet)


def _names(text: str) -> list[str]:
    """The names that the cell may read; every word where it is not Python."""
    with contextlib.suppress(SyntaxError):
        return list(CellSyntax(ast.parse(text)).mentioned)
    return sorted(set(re.findall(r"[A-Za-z_]\w*", text)))


def say(text: str) -> None:
    """Pass on what an engine reports while it runs."""
    sys.stderr.write(visible(text) if "\x1b" in text else text)


def print_output(runs: Any) -> None:
    """Print the output of the cell, an equal text once."""
    for text, processes in said((run.process, run.printed) for run in runs).items():
        head = "" if len(processes) == len(runs) else f"[{ranges(processes)}] "
        sys.stdout.write(f"{head}{text.rstrip()}\n")


def failed(errors: dict[int, str]) -> str:
    """The error of a cell that failed on some processes."""
    texts = [f"{ranges(found)}: {text}" for text, found in said(errors.items()).items()]
    return "\n  ".join(["The cell failed.", *texts])
