"""`--engines all`: a cell of the notebook on every engine of the cluster."""

from __future__ import annotations

import ast
import contextlib
import re
import sys
from typing import TYPE_CHECKING, Any, cast

from jaxscope.analysis.python.cell import CellSyntax
from jaxscope.magics import display
from jaxscope.magics.options.parser import usage_error
from jaxscope.view.base.visible import visible

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jaxscope.magics.family import Family
    from jaxscope.results.base import Result

_HERE = re.compile(
    r"(?:^|(?<=\s))(?:(?:--engines|-o|--report|--view)(?:\s+|=)\S+|-q|--quiet)(?=\s|$)"
)
"""Options that apply to the notebook, not to the engines."""
_OF_MESH = {
    *("--engines", "--global", "--time-limit", "-o", "--report", "-q", "--quiet", "--view"),
}


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
            errors = found.merged.failed
            print_output(found.merged.printed, len(cluster))
    except ClusterError as error:
        raise usage_error(str(error)) from None
    except KeyboardInterrupt:
        raise KeyboardInterrupt from None
    _show(family, found, given)
    if errors:
        raise usage_error(failed(errors))


def run_over_mesh(family: Family, line: str, cell: str | None, given: Any) -> None:
    """Time the `# jax` sections of a benchmark on all engines at once, and show one table."""
    __tracebackhide__ = True
    from jaxscope.bench.cell.sections import SETUP, SHARED, CellError, sections
    from jaxscope.bench.frameworks import registry
    from jaxscope.capture.cluster.process import ClusterError

    options = {word.partition("=")[0] for word in line.split() if word.startswith("-")}
    strange = sorted(options - _OF_MESH)
    if cell is None or not given.engines or given.request.inputs or strange:
        what = f", not {strange[0]}" if strange else ""
        raise usage_error(
            "%%jaxbench --engines all --global takes a cell, arrays of the engines, and "
            f"--time-limit{what}."
        )
    code: dict[str, str] = {}
    setup = ""
    try:
        for part in sections(cell, registry.names()):
            if part.name == SETUP:
                setup = part.text
            elif part.name in (SHARED, "jax"):
                code[f"jax: {part.label}" if part.label else "jax"] = part.text
            else:
                raise usage_error(f"--global times sections of JAX, and # {part.name} is not one.")
        limit = given.request.time_limit
        found = family.scope.attached().bench_mesh(code, setup, time_limit=limit, say=say)
    except (CellError, ClusterError) as error:
        raise usage_error(str(error)) from None
    except KeyboardInterrupt:
        raise KeyboardInterrupt from None
    _show(family, found, given)


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


def print_output(printed: Mapping[str, tuple[int, ...]], engines: int) -> None:
    """Print the output of the cell, an equal text once."""
    from jaxscope.analysis.cluster.runs import ranges

    for text, processes in printed.items():
        head = "" if len(processes) == engines else f"[{ranges(processes)}] "
        sys.stdout.write(f"{head}{text.rstrip()}\n")


def failed(errors: dict[int, str]) -> str:
    """The error of a cell that failed on some processes."""
    from jaxscope.analysis.cluster.runs import ranges, said

    texts = [f"{ranges(found)}: {text}" for text, found in said(errors.items()).items()]
    return "\n  ".join(["The cell failed.", *texts])
