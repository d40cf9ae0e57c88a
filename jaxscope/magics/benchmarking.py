"""`%%jaxbench` and `%jaxbench`: read the line and the sections, measure, show."""

from __future__ import annotations

import ast
import contextlib
import re
from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.core.magic import (
    line_cell_magic,
    magics_class,
    needs_local_scope,
    no_var_expand,
)

from jaxscope.capture.options.settings import not_an_expression
from jaxscope.capture.source.cell_names import running_number
from jaxscope.magics import display
from jaxscope.magics.family import Completer, Family
from jaxscope.magics.on_engines import run_on_engines, run_over_mesh
from jaxscope.magics.options import bench
from jaxscope.magics.options.parser import completer, documented, require_jax, usage_error
from jaxscope.magics.progress import ProgressBar

if TYPE_CHECKING:
    from jaxscope.bench.plan import Plan
    from jaxscope.results.comparison import Comparison

_PARSER = bench.parser()
_EXAMPLES = """
    %%jaxbench --vs numpy,torch,jax --sizes n=2^6..2^12 x=normal(n,n)
    y = (x - xp.mean(x)) / xp.std(x)       one shared source, written for `xp`

    %%jaxbench --sizes n=1000,100_000 x=normal(n)
    # setup
    w = 0.5                                runs once per size, outside the timed code
    # numpy
    np.tanh(x) * w
    # jax
    jnp.tanh(x) * w                        compiled; `# jax-eager` runs it as written
    # jax: by hand
    jnp.expm1(2 * x) / (jnp.expm1(2 * x) + 2) * w

    %%jaxbench
    def f(x): ...                          functions, each run as it is written
    def g(x): ...
    for n in (64, 1024):                   the sizes
        x = np.ones(n)
        f(x)
        g(x)

    %jaxbench np.sort(x) vs jnp.sort(x)    expressions, as they are written
    %jaxbench -o c jax: f(x) vs jax: g(x)  both compiled; the comparison bound to a name

    %%jaxbench --sizes n=1000 x=normal(n)
    # numpy
    x.sum()
    # c
    float total(const float *x, long n) {
        float sum = 0;
        for (long i = 0; i < n; i++) sum += x[i];
        return sum;
    }

implementations: numpy, torch, jax and jax-eager by default; also torch-compile, torchscript,
torch-func, tensorflow, tf-function, autograd, numba, cupy, mlx, c, and those of plug-ins.
inputs on the line: x=normal(n,n), uniform, complex_normal, integers(low,high,n), ones, zeros,
arange, linspace, eye, or any expression. Arrays of your namespace are inputs too.
"""
_PREFIX = re.compile(r"\s*([A-Za-z][\w.-]*)\s*:(?!=)\s*(.+)", re.S)


def _values(option: str) -> list[str]:
    """Completions of an option's value: implementations, stored baselines."""
    if option == "--vs":
        from jaxscope.bench.frameworks import registry
        from jaxscope.bench.plan import PlanError

        with contextlib.suppress(PlanError):
            return list(registry.names())
    if option in ("--against", "--save"):
        from jaxscope.bench import baselines

        return list(baselines.names())
    return []


def _parsed(text: str) -> ast.Expression:
    try:
        return ast.parse(text.strip(), filename="<jaxbench>", mode="eval")
    except (SyntaxError, ValueError) as error:
        raise usage_error(str(not_an_expression(text, error))) from None


def _unreadable(error: SyntaxError) -> UsageError:
    """The line of the cell with a caret below it.

    A SyntaxError of a magic would be shown below IPython's frames and ours, like an error of code
    that ran.
    """
    line = (error.text or "").rstrip()
    text = f"Line {error.lineno} of the cell is not valid Python: {error.msg}."
    if not line.strip():
        return usage_error(text)
    left = len(line) - len(line.lstrip())
    caret = max((error.offset or 1) - 1 - left, 0)
    return usage_error(f"{text}\n    {line.lstrip()}\n    {' ' * caret}^")


@magics_class
class Benchmarking(Family):
    """`%jaxbench` and `%%jaxbench`."""

    def completers(self) -> dict[str, Completer]:
        others = completer(_PARSER, lambda: self._shell.user_ns)

        def handler(shell: Any, event: Any) -> list[str]:
            before = event.line[: len(event.line) - len(event.symbol)].split()
            return _values(before[-1] if before else "") or others(shell, event)

        return {"%%jaxbench": handler, "%jaxbench": handler}

    @no_var_expand
    @needs_local_scope
    @line_cell_magic
    @documented(_PARSER, _EXAMPLES)
    def jaxbench(
        self, line: str, cell: str | None = None, local_ns: Mapping[str, Any] | None = None
    ) -> None:
        __tracebackhide__ = True
        given = bench.parse(line, _PARSER, cell is not None, self.scope.view)
        if cell is not None and not cell.strip():
            raise usage_error("The %%jaxbench cell has no code to time.")
        require_jax("jaxbench")
        if given.mesh:
            run_over_mesh(self, line, cell, given)
            return
        if given.engines:
            run_on_engines(self, "jaxbench", line, given.rest, cell, given)
            return
        from jaxscope.bench.baselines import BaselineError
        from jaxscope.bench.cell.sections import CellError
        from jaxscope.bench.compare import measured, x64_enabled
        from jaxscope.bench.plan import PlanError
        from jaxscope.model.wire import SchemaError

        try:
            with ProgressBar(self._shell) as bar, x64_enabled(given.request.x64):
                plan = (
                    self._expressions(given, bar, local_ns)
                    if cell is None
                    else self._cell(f"%%jaxbench {line}".rstrip(), cell, given, bar)
                )
                comparison = measured(plan, given.save, given.against)
        except (BaselineError, CellError, PlanError, SchemaError) as error:
            raise usage_error(str(error)) from None
        if given.report is not None:
            self._shell.user_ns[given.report] = comparison
        # A failure here never discards what was measured.
        with display.attempt("show the comparison"):
            quiet = given.quiet or self.scope.quiet
            display.show_comparison(comparison, self._shell, given.view, quiet)
            for kind in given.plot:
                self._plot(comparison, kind)

    def _cell(self, head: str, text: str, given: Namespace, bar: ProgressBar) -> Plan:
        __tracebackhide__ = True
        from jaxscope.bench.cell.plan import PlanSource, cell_plan
        from jaxscope.bench.cell.sections import CellError
        from jaxscope.bench.frameworks import registry
        from jaxscope.bench.plan import PlanError

        # Tracebacks and the front end find the lines of the cell under this name.
        whole = f"{head}\n{text}"
        raw = self.scope.raw_cell
        raw = raw if raw.strip() == whole.strip() else whole
        file = self._shell.compile.cache(whole, running_number(self._shell), raw_code=raw)
        try:
            source = PlanSource(
                text,
                given.request,
                self._shell.user_ns,
                registry.names(),
                registry.DEFAULT,
                file=file,
                title=self.scope.session.cell_name(file) or "cell",
            )
            return cell_plan(source, bar)
        except (CellError, PlanError):
            raise
        except SyntaxError as error:
            raise _unreadable(error) from None
        except (Exception, KeyboardInterrupt) as error:  # of the set-up
            raise display.without_our_frames(error, file)  # noqa: B904

    def _expressions(
        self, given: Namespace, bar: ProgressBar, local: Mapping[str, Any] | None
    ) -> Plan:
        __tracebackhide__ = True
        from jaxscope.bench.cell.line import split_versus
        from jaxscope.bench.cell.plan import PlanSource, cell_plan

        code = tuple(self._labeled(split_versus(given.rest), given))
        space, title = self.namespace_of(given.rest, local), given.rest
        return cell_plan(
            PlanSource(code, given.request, space, file="<jaxbench>", title=title), bar
        )

    def _labeled(self, texts: Sequence[str], given: Namespace) -> list[tuple[str, str, str]]:
        """(implementation, label, expression) of each, with unique labels."""
        from jaxscope.bench.cell.framework import named_framework
        from jaxscope.bench.cell.sections import resolve
        from jaxscope.bench.frameworks import registry

        if given.request.vs:
            raise usage_error("--vs is for cells. %jaxbench compares the expressions on its line.")
        known = registry.names()
        made: list[tuple[str, str, str]] = []
        for text in texts:
            match = _PREFIX.fullmatch(text)
            if match is not None:
                implementation, text = resolve(match[1], known), match[2]
                _parsed(text)
                label = f"{implementation}: {text}"
            else:
                tree = _parsed(text)
                implementation = named_framework(tree.body, self._shell.user_ns) or "numpy"
                label = text
            seen = [one for one in made if one[1] == label or one[1].startswith(f"{label} (")]
            made.append((implementation, f"{label} ({len(seen) + 1})" if seen else label, text))
        return made

    def _plot(self, comparison: Comparison, kind: Any) -> None:
        from IPython.display import display as show

        try:
            show(comparison.plot(kind))
        except (LookupError, ImportError) as error:
            display.say(f"The {kind} plot was not drawn. {error}")
