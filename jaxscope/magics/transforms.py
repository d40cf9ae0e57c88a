"""The magics of the transforms: read a line, call the public function, show the result."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from IPython.core.magic import (
    line_cell_magic,
    magics_class,
    needs_local_scope,
    no_var_expand,
)

from jaxscope.analysis.python.cell import is_silenced
from jaxscope.capture.options.composition import Composition
from jaxscope.magics import display
from jaxscope.magics.cells import read_cell
from jaxscope.magics.family import Completer, Family
from jaxscope.magics.on_engines import run_on_engines
from jaxscope.magics.on_targets import compare_targets, defines
from jaxscope.magics.options import compose, transforms
from jaxscope.magics.options.parser import completer, documented, require_jax, usage_error
from jaxscope.magics.options.transform_help import EXAMPLES, PARSERS
from jaxscope.magics.progress import Status

if TYPE_CHECKING:
    from jaxscope.capture.options.settings import Settings
    from jaxscope.capture.run.context import Ran


def _magic(name: str) -> Any:
    """The magic of a transform, for cells and for lines."""

    def magic(
        self: Transforms,
        line: str,
        cell: str | None = None,
        local_ns: Mapping[str, Any] | None = None,
    ) -> Any:
        __tracebackhide__ = True
        return self.run(name, line, cell, local_ns)

    magic.__name__ = f"jax{name}"  # IPython registers it under this name
    found = line_cell_magic(documented(PARSERS[name], EXAMPLES[name])(magic))
    return needs_local_scope(no_var_expand(found))


@magics_class
class Transforms(Family):
    """The magics that compile a cell or a call."""

    def completers(self) -> dict[str, Completer]:
        found: dict[str, Completer] = {}
        for name, parser in PARSERS.items():
            handler = completer(parser, lambda: self._shell.user_ns, composition=name == "compose")
            found |= {f"%%jax{name}": handler, f"%jax{name}": handler}
        return found

    jaxjit, jaxgrad, jaxvmap, jaxpmap, jaxcompose = map(_magic, PARSERS)

    # How they work.

    def run(
        self, name: str, line: str, cell: str | None, local: Mapping[str, Any] | None = None
    ) -> Any:
        """Compile and run a cell or a call under the transform, and show its report."""
        __tracebackhide__ = True
        magic = f"jax{name}"
        given = transforms.parse(line, PARSERS[name], self.scope.view)
        if name == "compose":
            found, rest = compose.read_composition(given.rest)
        else:
            found, rest = [compose.segment(name, given)], given.rest
        silent = cell is None and is_silenced(rest)
        if silent:
            rest = rest.rstrip("; ")
        if cell is not None and name == "compose" and rest.partition(" ")[0] in PARSERS:
            raise usage_error(
                f"There is no `|` before {rest!r}: write `|` between transforms, such as "
                f"%%{magic} jit | grad -w w."
            )
        transforms.check_form(magic, cell, rest, given.rest)
        transforms.check_name(given.report, "report")
        require_jax(magic)
        if given.engines:
            extra = () if given.runs is not None else ("-n 1",)
            run_on_engines(self, magic, line, given.rest, cell, given, *extra)
            return None
        every = self._settings(given, Composition.compiled(found))
        if cell is None:
            transforms.check_report_name_in(given.report, rest, "this call")
        key = f"line:{rest}" if cell is None else self.scope.session.cell_key(cell)
        head = f"%%{magic} {line}".rstrip()

        def ran(some: Sequence[Settings]) -> Sequence[Ran]:
            __tracebackhide__ = True
            if cell is None:
                space = self.namespace_of(line, local)
                return [self.run_call(rest, settings, magic, space) for settings in some]
            return self._cell(head, cell, given, some)

        if len(every) > 1:
            once = cell is not None and not given.block and defines(cell)
            return compare_targets(self, every, ran, key, given, once=once)
        try:
            [made] = ran(every)
        except KeyboardInterrupt:
            self._show_interrupted(given)
            raise
        self.publish(made, key, given.report, given.view, given.quiet)
        return None if silent else made.value

    def _cell(
        self, head: str, body: str, given: Namespace, every: Sequence[Settings]
    ) -> Sequence[Ran]:
        """Run the cell once; with definitions, for several targets."""
        __tracebackhide__ = True
        from jaxscope.capture.options import error_origin
        from jaxscope.capture.options.settings import SettingsError
        from jaxscope.capture.run import run
        from jaxscope.model import Form

        text = read_cell(self._shell, head, body, self.scope.raw_cell)
        transforms.check_report_name(given.report, text.syntax)
        form = Form.BLOCK if given.block else Form.DECORATOR if given.decorate else None
        with Status(self._shell) as status:
            try:
                session = self.scope.session
                context = session.context(session.cell_key(body), status.say)
                if len(every) > 1:
                    return run.cell_on_targets(text, every, context)
                return [run.cell(text, every[0], context, form)]
            except SettingsError as error:
                raise usage_error(str(error)) from None
            except BaseException as error:
                if not error_origin.is_ours(error, text.file):
                    raise display.without_our_frames(error, text.file)  # noqa: B904
                why, again = error_origin.reason(error), error_origin.code_has_run(error)
            try:
                space = self._shell.user_ns
                alone = run.cell_alone(text, every[0], space, form, why, again=again)
                return [alone] * len(every)
            except BaseException as error:
                raise display.without_our_frames(error, text.file)  # noqa: B904

    def _show_interrupted(self, given: Namespace) -> None:
        """The compile time until then, where it was requested."""
        from jaxscope.results.compile_time import CompileTimes

        found = self.scope.session.interrupted
        if found is not None:
            view, quiet = given.view or self.scope.view, given.quiet or self.scope.quiet
            display.show(CompileTimes(found), self._shell, view, quiet)

    def _settings(self, given: Namespace, composition: Composition) -> list[Settings]:
        """The settings of the run; of several targets and meshes, of each."""
        from jaxscope.capture.options.settings import Settings

        try:
            every = [
                Settings(
                    given.static,
                    given.traced,
                    given.donate,
                    given.device or (None if target else self.scope.device or None),
                    self.scope.runs if given.runs is None and not target else given.runs,
                    target=target,
                    mesh=mesh,
                    specs=tuple(given.spec),
                    x64=given.x64,
                    recompile=not given.no_recompile,
                    exact=given.exact,
                    compile_time=given.compile_time,
                    only=given.only,
                    profile=transforms.plan(given),
                    composition=composition,
                )
                for target in given.target or [None]
                for mesh in given.mesh or [""]
            ]
            # On a mesh of four devices, `cpu` is `cpu:4`.
            return list({(str(one.compiled_for), one.mesh): one for one in every}.values())
        except ValueError as error:
            raise usage_error(str(error)) from None
