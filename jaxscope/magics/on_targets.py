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
    run: Callable[[Sequence[Settings]], Sequence[Ran]],
    key: str,
    given: Any,
    *,
    once: bool,
) -> Any:
    """Compile for each target and mesh, and show one table; the value of a cell that runs.

    `once` says that the code is a cell that runs here, once. A target without a result is a row
    with its reason; where none has one, it is raised.
    """
    __tracebackhide__ = True
    from jaxscope.results.report import Report
    from jaxscope.results.target_table import TargetRow, TargetTable

    ran: list[Ran | UsageError] = []
    for part in [every] if once else [[one] for one in every]:
        try:
            ran += run(part)
        except UsageError as error:
            ran += [error] * len(part)
    rows: list[TargetRow] = []
    title = ""
    for settings, found in zip(every, ran, strict=True):
        target = settings.compiled_for
        assert target is not None
        if isinstance(found, UsageError):
            rows.append(TargetRow(target.name, settings.mesh, None, str(found)))
            continue
        report = Report(found.record, found.texts, found.origin)
        family.keep(report, key)
        title = title or _title(found)
        rows.append(TargetRow(target.name, settings.mesh, report, found.failure))
    if all(row.report is None for row in rows):
        raise usage_error(rows[0].why)
    table = TargetTable(rows, title)
    shell = cast("Any", family.shell)
    if given.report is not None:
        shell.user_ns[given.report] = table
    with display.attempt("show the table"):
        view, quiet = given.view or family.scope.view, given.quiet or family.scope.quiet
        display.show(table, shell, view, quiet)
    return None if isinstance(ran[0], UsageError) else ran[0].value


def _title(ran: Ran) -> str:
    found = ran.record.programs[0].title if ran.record.programs else ran.record.title
    from jaxscope.model import Form

    return found if ran.record.form is not Form.PLAIN else ""


def defines(cell: str) -> bool:
    """Whether a cell has definitions, so that its Python runs here."""
    try:
        body = ast.parse(cell).body
    except SyntaxError:
        return False  # reported by the reader of the cell
    return any(
        isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) for one in body
    )
