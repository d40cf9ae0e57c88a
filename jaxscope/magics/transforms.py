"""The magics of the transforms: read a line, call the public function, show the result."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from IPython.core.error import UsageError
from IPython.core.magic import line_cell_magic, magics_class, no_var_expand
from IPython.core.magic_arguments import MagicArgumentParser

from jaxscope.magics import display, options, plain
from jaxscope.magics.cells import read_cell
from jaxscope.magics.completion import completer
from jaxscope.magics.family import Completer, Family
from jaxscope.magics.status import Status
from jaxscope.model import Form
from jaxscope.report import Report

if TYPE_CHECKING:
    from jaxscope.capture.run import Ran, Surroundings
    from jaxscope.capture.settings import Settings

F = TypeVar("F", bound=Callable[..., Any])
_JIT = options.parser("jaxjit", "Compile the cell as one program, run it, show the report.")
_JIT_EXAMPLES = """
    %%jaxjit                       compile the cell, run it, show the report
    y = (x - x.mean()) / x.std()

    %%jaxjit -s n -d w -o report   n static, w donated, the report bound to a name
    for i in range(n):
        w = w - 0.1 * g

    %%jaxjit                       a cell with a def: its root functions are jitted
    def loss(w, x):
        return ((x @ w) ** 2).mean()
    loss(w, x)

    %jaxjit loss(w, x)             one call; binds nothing
"""


def documented(parser: MagicArgumentParser, examples: str) -> Callable[[F], F]:
    """Gives a magic the page that `%magic?` shows: what it does, its options, examples."""

    def set_page(function: F) -> F:
        usage = parser.format_help().replace("::", "").replace(str(parser.description), "").strip()
        function.__doc__ = f"{parser.description}\n\n{usage}\n\nexamples:\n{examples}"
        return function

    return set_page


_LINE = "<jaxjit>"
"""The file name of a line magic's expression."""


@magics_class
class Transforms(Family):
    """The magics that compile a cell or a call."""

    def completers(self) -> dict[str, Completer]:
        handler = completer(_JIT, lambda: self._shell.user_ns)
        return {"%%jaxjit": handler, "%jaxjit": handler}

    @no_var_expand
    @line_cell_magic
    @documented(_JIT, _JIT_EXAMPLES)
    def jaxjit(self, line: str, cell: str | None = None) -> Any:
        __tracebackhide__ = True
        return self._run("jaxjit", _JIT, line, cell)

    # How they work.

    def _run(self, magic: str, parser: MagicArgumentParser, line: str, cell: str | None) -> Any:
        __tracebackhide__ = True
        given = options.parse(line, parser, self.scope.view)
        if cell is not None and given.rest:
            raise UsageError(
                f"%%{magic} takes options only, and {given.rest!r} is none. "
                f"For one call, write %{magic} {given.rest}"
            )
        if cell is None and not given.rest:
            raise UsageError(
                f"%{magic} needs a call: %{magic} f(x, y). For a cell, write %%{magic}."
            )
        if given.report is not None and not options.is_name(given.report):
            raise UsageError(f"-o needs a name to bind the report to, and got {given.report!r}.")
        _require_jax(magic)
        if cell is None:
            ran = self._call(given)
        else:
            ran = self._cell(f"%%{magic} {line}".rstrip(), cell, given)
        report = Report(ran.record, ran.texts)
        self.scope.session.add(report)
        if given.report is not None:
            self._shell.user_ns[given.report] = report
        if ran.failure:
            display.say(ran.failure)
            return ran.value
        try:
            display.show(report, self._shell, given.view, given.quiet or self.scope.quiet)
        except Exception as error:  # the run is over: nothing may take its value back
            display.say(f"jaxscope could not show the report ({type(error).__name__}: {error}).")
        return ran.value

    def _cell(self, head: str, body: str, given: options.Options) -> Ran:
        __tracebackhide__ = True
        from jaxscope.capture import blame, run
        from jaxscope.capture.settings import SettingsError

        settings = self._settings(given)
        try:
            text = read_cell(self._shell, head, body, self.scope.raw_cell)
        except SyntaxError as error:
            raise error.with_traceback(None)  # noqa: B904
        form = Form.BLOCK if given.block else Form.DECORATOR if given.decorate else None
        with Status(self._shell) as status:
            try:
                around = self._around(self.scope.session.cell_key(body), status)
                return run.cell(text, settings, around, form)
            except SettingsError as error:
                raise UsageError(str(error)) from None
            except BaseException as error:
                if not blame.is_ours(error, text.file):
                    raise display.without_our_frames(error, text.file)  # noqa: B904
                why = blame.reason(error)
            try:
                return plain.run(text, self._shell.user_ns, why)
            except BaseException as error:
                raise display.without_our_frames(error, text.file)  # noqa: B904

    def _call(self, given: options.Options) -> Ran:
        __tracebackhide__ = True
        from jaxscope.capture import run
        from jaxscope.capture.settings import SettingsError

        settings = self._settings(given)
        with Status(self._shell) as status:
            around = self._around(f"line:{given.rest}", status)
            try:
                return run.expression(given.rest, settings, around)
            except SettingsError as error:
                raise UsageError(str(error)) from None
            except BaseException as error:
                raise display.without_our_frames(error, _LINE)  # noqa: B904

    def _around(self, key: str, status: Status) -> Surroundings:
        from jaxscope.capture.run import Surroundings

        session = self.scope.session
        return Surroundings(
            self._shell.user_ns,
            session.listener,
            session.peaks,
            session.cell_name,
            session.programs(key),
            status.say,
        )

    def _settings(self, given: options.Options) -> Settings:
        from jaxscope.capture.settings import Settings

        try:
            return Settings(
                given.static,
                given.traced,
                given.donate,
                given.device or self.scope.device or None,
                self.scope.runs if given.runs is None else given.runs,
                given.x64,
                given.only,
            )
        except ValueError as error:
            raise UsageError(str(error)) from None


def _require_jax(magic: str) -> None:
    try:
        importlib.import_module("jax")
    except ModuleNotFoundError as error:
        if error.name not in ("jax", "jaxlib"):
            raise
        raise UsageError(
            f"%{magic} needs JAX, and this Python has none: run `%pip install jax` and restart "
            "the kernel."
        ) from None
