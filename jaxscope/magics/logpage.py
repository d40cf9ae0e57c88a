"""How a compile log reaches the screen."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from jaxscope.magics import display

if TYPE_CHECKING:
    from jaxscope.log import CompileLog
    from jaxscope.model.log import Log


def show(log: CompileLog, shell: Any, view: str, quiet: bool, by: str | None = None) -> None:
    """One line, text, HTML, or whatever the front end takes; `by` shows a table of sums."""
    from IPython.display import display as show_data

    in_terminal = getattr(shell, "kernel", None) is None
    if quiet:
        data = {"text/plain": log.summary()}
    elif view == "text" or (in_terminal and view != "html"):
        color = in_terminal and sys.stdout.isatty()
        data = {"text/plain": _text(log, by, None, color)}
    else:
        data = {"text/plain": _text(log, by, 100, False), "text/html": _html(log, by)}
    # As data and not printed: the cell's own output stays the cell's own.
    show_data(data, raw=True)


def _text(log: CompileLog, by: str | None, width: int | None, color: bool) -> str:
    if by is None:
        return log.to_text(width=width, color=color).rstrip("\n")
    from jaxscope.view.compile_log_text import groups_text

    return groups_text(log.log, _groups(log, by), by, width, color).rstrip("\n")


def _html(log: CompileLog, by: str | None) -> str:
    if by is None:
        return log.static_html()
    from jaxscope.view.compile_log_html import groups_page

    return groups_page(log.log, _groups(log, by), by)


def _groups(log: CompileLog, by: str) -> Any:
    return {"line": log.by_line, "function": log.by_function, "cell": log.by_cell}[by]()


def show_figure(log: CompileLog, shell: Any) -> None:
    """The plotly figure, or one line that says what is missing.

    Where a front end has no plotly, and in a notebook on a page, the same sums stand as a table.
    """
    if getattr(shell, "kernel", None) is None:
        display.say(
            "A terminal draws no figure: `%jaxlog --by function` has its sums, and after "
            "`%jaxlog -o log`, `log.figure().show()` opens it in a browser."
        )
        return
    from IPython.display import display as show_data

    try:
        figure = log.figure()
    except ModuleNotFoundError as error:
        display.say(str(error))
        return
    data = {
        "application/vnd.plotly.v1+json": json.loads(figure.to_json()),
        "text/html": _html(log, "function"),
        "text/plain": _text(log, "function", 100, False),
    }
    show_data(data, raw=True)


def say_footer(log: Log) -> None:
    """One line, and a second for what compiled again."""
    from jaxscope.view.compile_log import footer

    display.say(footer(log))
