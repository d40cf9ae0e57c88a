"""`%%jaxprof` and `%jaxprof`: time by line of Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from IPython.core.magic import (
    line_cell_magic,
    magics_class,
    needs_local_scope,
    no_var_expand,
)

from jaxscope.magics import display
from jaxscope.magics.cells import read_cell
from jaxscope.magics.family import Completer, Family
from jaxscope.magics.on_engines import run_on_engines
from jaxscope.magics.options import transforms
from jaxscope.magics.options.parser import (
    ENGINES,
    Parser,
    completer,
    documented,
    require_jax,
    usage_error,
)
from jaxscope.magics.progress import Status

if TYPE_CHECKING:
    from jaxscope.capture.options.profile_plan import ProfilePlan
    from jaxscope.capture.profile.xprof import XProfServer
    from jaxscope.capture.run.context import Ran
    from jaxscope.magics.config import JaxScope
    from jaxscope.results.report import Report

_PARSER = Parser(
    "jaxprof",
    "Measure time by line of Python, inside compiled functions too.",
    ("%%jaxprof [options]", "%jaxprof [options] f(x, y)"),
)
_PARSER.add_display("Report")
transforms.add_profile(_PARSER)
_PARSER.add_argument("--engines", choices=("all",), help=ENGINES)
_PARSER.add_argument(
    "--xprof",
    action="store_true",
    help="Open the profile in XProf, on 127.0.0.1 until the kernel ends.",
)
_EXAMPLES = """
    %jaxprof step(params, batch)    one call: each line and instruction of the compiled function

    %jaxprof --isolate-lines f(x)   also the cost of each line without fusion between lines

    %%jaxprof                       a cell as plain Python, run once: Python's time by line, the
    for batch in batches:           work that each line dispatched, and the lines inside jitted
        params = step(params, batch)    functions

    %%jaxjit --profile              a cell compiled as one program; --profile is also an option of
    y = jnp.sin(x) @ w              %%jaxgrad, %%jaxvmap, %%jaxpmap and %%jaxcompose
"""


@magics_class
class Profiling(Family):
    """Profiles of calls and cells."""

    def __init__(self, shell: Any, scope: JaxScope) -> None:
        super().__init__(shell, scope)
        self._servers: list[XProfServer] = []

    def completers(self) -> dict[str, Completer]:
        handler = completer(_PARSER, lambda: self._shell.user_ns)
        return {"%%jaxprof": handler, "%jaxprof": handler}

    @no_var_expand
    @needs_local_scope
    @line_cell_magic
    @documented(_PARSER, _EXAMPLES)
    def jaxprof(
        self, line: str, cell: str | None = None, local_ns: Mapping[str, Any] | None = None
    ) -> Any:
        __tracebackhide__ = True
        tokens, rest = transforms.split(line, _PARSER)
        silent = rest.endswith(";")
        rest = rest.rstrip("; ")
        given = _PARSER.parse_args(tokens)
        transforms.check_form("jaxprof", cell, rest, rest)
        transforms.check_name(given.report, "report")
        require_jax("jaxprof")
        if given.engines:
            run_on_engines(self, "jaxprof", line, rest, cell, given)
            return None
        from jaxscope.capture.options.profile_plan import ProfilePlan

        plan = transforms.plan(given, always=True) or ProfilePlan()
        if cell is None:
            transforms.check_report_name_in(given.report, rest, "this call")
            from jaxscope.capture.options.settings import Settings

            key = f"line:{rest}"
            settings = Settings(
                device=self.scope.device or None,
                recompile=not given.no_recompile,
                exact=given.exact,
                profile=plan,
            )
            ran = self.run_call(rest, settings, "jaxprof", self.namespace_of(line, local_ns))
        else:
            if given.exact:
                raise usage_error(
                    "--exact follows the program of one call: write %jaxprof --exact f(x), or "
                    "%%jaxjit --profile --exact for a cell."
                )
            key = self.scope.session.cell_key(cell)
            ran = self._cell(f"%%jaxprof {line}".rstrip(), cell, plan, given.report)
        view = given.view or self.scope.view
        report = self.publish(ran, key, given.report, view, given.quiet)
        if ran.failure:
            return ran.value
        if ran.error is not None:
            raise ran.error
        if given.xprof:
            self._open_xprof(report)
        return None if silent else ran.value

    def _open_xprof(self, report: Report) -> None:
        from IPython.display import IFrame
        from IPython.display import display as show

        from jaxscope.capture.profile.xprof import about

        try:
            server = report.xprof()
        except (LookupError, ValueError) as error:
            display.say(str(error))
            return
        self._servers.append(server)
        devices = report.programs[0].devices if report.programs else ("cpu:0",)
        for note in about(devices[0]):
            display.say(note)
        if getattr(self._shell, "kernel", None) is None:
            display.say(f"XProf is at {server.url()}")
        else:
            show(IFrame(server.url(), "100%", 720))

    def close(self) -> None:
        """Stop the servers that `--xprof` started."""
        for server in self._servers:
            server.stop()
        self._servers.clear()

    def _cell(self, head: str, body: str, plan: ProfilePlan, report: str | None) -> Ran:
        __tracebackhide__ = True
        from jaxscope.capture.run import profiled_cell

        text = read_cell(self._shell, head, body, self.scope.raw_cell, "a profiled cell")
        transforms.check_report_name(report, text.syntax)
        with Status(self._shell) as status:
            try:
                session = self.scope.session
                context = session.context(session.cell_key(body), status.say)
                ran = profiled_cell.cell(text, context, plan)
            except BaseException as error:
                raise display.without_our_frames(error, text.file)  # noqa: B904
        if ran.error is None:
            return ran
        return replace(ran, error=display.without_our_frames(ran.error, text.file))
