"""Displays of results, and the shortening of tracebacks."""

from __future__ import annotations

import contextlib
import functools
import json
import sys
import traceback
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from jaxscope.version import HOME

if TYPE_CHECKING:
    from types import TracebackType

    from jaxscope.results.base import Result
    from jaxscope.results.comparison import Comparison
    from jaxscope.results.compile_log import CompileLog
    from jaxscope.view.base.document import Document


def show(found: Result, shell: Any, view: str, quiet: bool, summary: str = "") -> None:
    """Display a result: one line, text, HTML, or the richest form that the front end takes."""
    from IPython.display import display

    in_terminal = getattr(shell, "kernel", None) is None
    line = summary or found.summary()
    if view == "widget" and not quiet and _show_widget(found, shell):
        return
    if quiet:
        data = {"text/plain": line}
    elif view == "html":
        data = {"text/plain": line, "text/html": found.static_html()}
    elif view == "text" or in_terminal:
        color = in_terminal and sys.stdout.isatty()
        data = {"text/plain": found.to_text(color=color)}
    else:
        display(found)
        return
    # As data, not printed: the cell's own output stays separate.
    display(data, raw=True)


def _show_widget(found: Any, shell: Any) -> bool:
    """Display the widget; where that is impossible, a line with the reason."""
    from IPython.display import display

    if getattr(shell, "kernel", None) is None:
        say("A terminal has no widgets, so this is the view `auto`.")
        return False
    try:
        widget = found.widget()
    except Exception as error:
        say(f"{error} This is the view `auto`.")
        return False
    display(widget)
    return True


def show_comparison(comparison: Comparison, shell: Any, view: str, quiet: bool) -> None:
    """Display a comparison; its one line also names the implementations that did not run."""
    from jaxscope.view.comparison.answer import not_run

    summary = comparison.summary()
    missing = not_run(comparison.record) if quiet else ""
    if missing:
        summary = f"{summary.rstrip('.')}. {missing}."
    show(comparison, shell, view, quiet, summary)


def say(line: str, *, dim: bool = False) -> None:
    """Show one line, as data: the cell's own output stays separate. `dim` is for a terminal."""
    from IPython.display import display

    if dim and sys.stdout.isatty():
        line = f"\x1b[2m{line}\x1b[0m"
    display({"text/plain": line}, raw=True)


@contextlib.contextmanager
def attempt(what: str) -> Generator[None]:
    """Try to `show the report`; one line with the reason where that fails."""
    try:
        yield
    except Exception as error:
        say(f"jaxscope could not {what} ({type(error).__name__}: {error}).")


def without_our_frames(error: BaseException, file: str) -> BaseException:
    """The error with its traceback cut to begin in the user's cell, if it passes through it.

    Else it begins below the last frame of jaxscope: in the user's function, or in JAX. A refusal of
    jaxscope gets one frame, on the line that it refuses. So does an interrupt or a failure of the
    program, on the first line. IPython shows it without the frames of the magic.
    """
    _cut_causes(error, file)
    return shown_from_the_cell(_cut(error, file))


def shown_from_the_cell(error: BaseException) -> BaseException:
    """The error, which IPython shows without the frames of the magic."""
    with contextlib.suppress(AttributeError):  # of a class with slots
        error._render_traceback_ = functools.partial(_rendered, error)  # pyright: ignore
        if isinstance(error, SyntaxError):
            _show_next(error)
    return error


def _show_next(error: SyntaxError) -> None:
    """Show the error as it renders itself: of all errors, IPython does not ask a SyntaxError."""
    from IPython.core.getipython import get_ipython

    shell: Any = get_ipython()
    of_shell, usual = vars(shell).get("showsyntaxerror"), shell.showsyntaxerror

    def once(filename: str | None = None, running_compiled_code: bool = False) -> None:
        if of_shell is None:
            del shell.showsyntaxerror
        else:
            shell.showsyntaxerror = of_shell
        if sys.exc_info()[1] is error:
            shell._showtraceback(type(error), error, _rendered(error))
        else:
            usual(filename, running_compiled_code)

    shell.showsyntaxerror = once


def _rendered(error: BaseException) -> list[str]:
    """The traceback as IPython writes it, which asks an exception for this: from the line of the
    cell on, without the call of the magic above it."""
    from IPython.core.getipython import get_ipython

    shell: Any = get_ipython()
    first = entry = error.__traceback__
    while entry is not None:
        if entry.tb_frame.f_code.co_filename.startswith(HOME):
            first = entry.tb_next
        entry = entry.tb_next
    if isinstance(error, SyntaxError):  # of the cell itself it has no frame
        return shell.SyntaxTB.structured_traceback(type(error), error, traceback.extract_tb(first))
    first = first or error.__traceback__
    return shell.InteractiveTB.structured_traceback(type(error), error, first, tb_offset=0)


def _cut(error: BaseException, file: str) -> BaseException:
    refused = isinstance(error, TypeError) and hasattr(error, "line")
    if refused or isinstance(error, MemoryError):
        return _at_line(error, file, getattr(error, "line", None) or 1)
    entry = error.__traceback__
    while entry is not None and entry.tb_frame.f_code.co_filename != file:
        entry = entry.tb_next
    if entry is None:
        entry = last = error.__traceback__
        while last is not None and last.tb_next is not None:
            if last.tb_frame.f_code.co_filename.startswith(HOME):
                entry = last.tb_next
            last = last.tb_next
        # While JAX compiled or ran the whole program.
        if isinstance(error, KeyboardInterrupt) or type(error).__name__ == "JaxRuntimeError":
            return _at_line(error, file, 1)
        # Arguments that the function does not take: the call failed before it began.
        ours = last is not None and last.tb_frame.f_code.co_filename.startswith(HOME)
        if isinstance(error, TypeError) and entry is last and ours:
            return _at_line(error, file, 1)
    _without_ours(entry)
    return error.with_traceback(entry)


def _cut_causes(error: BaseException, file: str) -> None:
    """Let the errors behind this one begin in the user's cell, too: where a transform does not fit,
    JAX gives the traceback of the equation as the cause."""
    cause = error.__cause__
    while cause is not None:
        entry = cause.__traceback__
        while entry is not None and entry.tb_frame.f_code.co_filename != file:
            entry = entry.tb_next
        if entry is not None:
            _without_ours(entry)
            cause.with_traceback(entry)
        cause = cause.__cause__


def _without_ours(entry: TracebackType | None) -> None:
    """Take the frames of jaxscope out of a traceback that begins in the user's code."""
    from jaxscope.capture.options import error_origin

    if entry is not None and not entry.tb_frame.f_code.co_filename.startswith(HOME):
        error_origin.without_ours(entry)  # else raised by jaxscope itself


def _at_line(error: BaseException, file: str, line: int) -> BaseException:
    """The error with one frame, on that line of the cell, where no code of the cell raised it."""
    code = compile("\n" * (line - 1) + "raise error", file, "exec")
    try:
        exec(code, {"error": error.with_traceback(None)})
    except BaseException as raised:
        first = raised.__traceback__
        return raised.with_traceback(None if first is None else first.tb_next)
    return error


def show_log(log: CompileLog, shell: Any, view: str, quiet: bool, by: str | None = None) -> None:
    """Display a compile log: one line, text, or HTML; `by` selects a table of sums."""
    from IPython.display import display as show_data

    in_terminal = getattr(shell, "kernel", None) is None
    if quiet:
        data = {"text/plain": log.summary()}
    elif view == "text" or (in_terminal and view != "html"):
        color = in_terminal and sys.stdout.isatty()
        data = {"text/plain": _text(log, by, None, color)}
    else:
        data = {"text/plain": _text(log, by, 100, False), "text/html": _html(log, by)}
    show_data(data, raw=True)


def _text(log: CompileLog, by: str | None, width: int | None, color: bool) -> str:
    if by is None:
        return log.to_text(width=width, color=color).rstrip("\n")
    from jaxscope.view.base.terminal import text

    return text(_by(log, by), width, color).rstrip("\n")


def _html(log: CompileLog, by: str | None) -> str:
    if by is None:
        return log.static_html()
    from jaxscope.view.base.static import static_html

    return static_html(lambda room: _by(log, by))


def _by(log: CompileLog, by: str) -> Document:
    from jaxscope.view.compiles.document import groups_document

    groups = {"line": log.by_line, "function": log.by_function, "cell": log.by_cell}[by]()
    return groups_document(log.log, groups, by)


def show_figure(log: CompileLog, shell: Any) -> None:
    """Display the plotly figure, or one line with the missing package.

    A front end without plotly shows the same sums as a table.
    """
    if getattr(shell, "kernel", None) is None:
        say(
            "A terminal cannot draw figures: `%jaxlog --by function` shows the sums. After "
            "`%jaxlog -o log`, `log.plot().show()` opens the figure in a browser."
        )
        return
    from IPython.display import display as show_data

    try:
        figure = log.plot()
    except ModuleNotFoundError as error:
        say(str(error))
        return
    data = {
        "application/vnd.plotly.v1+json": json.loads(figure.to_json() or "{}"),
        "text/html": _html(log, "function"),
        "text/plain": _text(log, "function", 100, False),
    }
    show_data(data, raw=True)
