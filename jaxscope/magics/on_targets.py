"""`--target tpu:v5e,gpu:h100`: a cell or a call for several targets, in one table."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from IPython.core.error import UsageError

from jaxscope.magics import display
from jaxscope.magics.options.parser import usage_error

if TYPE_CHECKING:
    from jaxscope.capture.options.settings import Settings
    from jaxscope.capture.run.context import Ran
    from jaxscope.magics.family import Family


def compare_targets(
    family: Family,
    every: Sequence[Settings],
    run: Callable[[Settings], Ran],
    key: str,
    given: Any,
    cell: str | None,
) -> None:
    """Compile for each target and mesh, and show one table.

    A target without a result is a row with its reason; where none has one, it is raised.
    """
    __tracebackhide__ = True
    from jaxscope.results.report import Report
    from jaxscope.results.target_table import TargetRow, TargetTable

    if cell is not None and not given.block and _defines(cell):
        raise usage_error(
            "A cell with definitions runs here once per target. Define in an earlier cell, or "
            "compile the whole cell with --block."
        )
    rows: list[TargetRow] = []
    title = ""
    for settings in every:
        target = settings.compiled_for
        assert target is not None
        try:
            ran = run(settings)
        except UsageError as error:
            rows.append(TargetRow(target.name, settings.mesh, None, str(error)))
            continue
        report = Report(ran.record, ran.texts, ran.origin)
        family.keep(report, key)
        title = title or _title(ran)
        rows.append(TargetRow(target.name, settings.mesh, report, ran.failure or ""))
    if all(row.report is None for row in rows):
        raise usage_error(rows[0].why)
    table = TargetTable(rows, title)
    shell = cast("Any", family.shell)
    if given.report is not None:
        shell.user_ns[given.report] = table
    with display.attempt("show the table"):
        view, quiet = given.view or family.scope.view, given.quiet or family.scope.quiet
        display.show(table, shell, view, quiet)


def _title(ran: Ran) -> str:
    found = ran.record.programs[0].title if ran.record.programs else ran.record.title
    from jaxscope.model import Form

    return found if ran.record.form is not Form.PLAIN else ""


def _defines(cell: str) -> bool:
    try:
        body = ast.parse(cell).body
    except SyntaxError:
        return False  # reported by the reader of the cell
    return any(
        isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) for one in body
    )
