"""Links that are settled by following the passes of XLA."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import pytest

import jaxscope
from jaxscope.analysis.links import line_figures
from jaxscope.capture.program import compiled_again
from jaxscope.model import StageKind, Unavailable
from measurements.link_sweep import primitive
from measurements.primitives import PRIMITIVES
from tests.magics.notebook import Notebook, open_notebook

pytestmark = pytest.mark.jax
NOTE = "compiled again to follow the passes of XLA"


def through(x: Any, w: Any) -> Any:
    total = jnp.cumsum(jnp.tanh(w), axis=0)
    return total @ x


@pytest.fixture(scope="module")
def arguments() -> tuple[Any, Any]:
    return jnp.ones(16), jnp.ones((16, 16))


@pytest.fixture(scope="module")
def notebook() -> Iterator[Notebook]:
    with open_notebook() as opened:
        opened.must("import jax.numpy as jnp\nx, w = jnp.ones(16), jnp.ones((16, 16))")
        opened.must("def through(x, w):\n    return jnp.cumsum(jnp.tanh(w), axis=0) @ x")
        yield opened


def inexact(report: jaxscope.Report) -> int:
    return sum(not anchor.exact for anchor in report.stage(StageKind.OPTIMIZED_HLO).anchors)


def inspected(arguments: tuple[Any, Any], *, exact: bool) -> jaxscope.Report:
    with jaxscope.options(runs=0, exact=exact):
        return jaxscope.inspect(through, *arguments)


def test_inferred_links_become_exact_and_brackets_go(arguments: tuple[Any, Any]) -> None:
    before, after = (inspected(arguments, exact=exact) for exact in (False, True))
    assert (inexact(before) > 0, inexact(after)) == (True, 0)
    figures = [line_figures.figures(one.programs[0]) for one in (before, after)]
    assert figures[0].keys() == figures[1].keys()
    assert not any(line.flops_bracket and line.flops_bracket.wide for line in figures[1].values())
    assert sum(line.flops or 0 for line in figures[1].values()) == pytest.approx(
        line_figures.total_flops(after.programs[0])
    )
    assert not any(NOTE in note for note in before.record.notes)
    assert [note for note in after.record.notes if note.startswith(f"{NOTE}: ")]


@pytest.mark.parametrize("name", ["matrix times vector", "lax.cumsum", "grad of matvec"])
def test_no_link_is_settled_wrongly(name: str, tmp_path: Path) -> None:
    found = primitive(PRIMITIVES[name], tmp_path, exact=True)
    assert set(found) == {"right, exact"}


def test_a_program_without_inferred_links_is_not_compiled_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(compiled_again, "pass_dump", None)
    with jaxscope.options(runs=0, exact=True):
        report = jaxscope.inspect(lambda v: jnp.sin(v) * 2.0, jnp.ones(8))
    assert inexact(report) == 0
    assert not any(NOTE in note for note in report.record.notes)


def test_where_the_passes_are_unknown_links_stay_inferred(
    arguments: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled_again, "pass_dump", lambda *_: Unavailable("this JAX gave none"))
    report = inspected(arguments, exact=True)
    assert inexact(report) > 0
    why = "The passes of XLA could not be followed: this JAX gave none."
    assert why in report.record.notes


@pytest.mark.parametrize(
    "cell",
    [
        "%%jaxjit --exact -q -n 1 -o r\ny = jnp.cumsum(jnp.tanh(w), axis=0) @ x",
        "%jaxjit --exact -q -n 1 -o r through(x, w)",
        "%jaxprof --exact -q -o r through(x, w)",
    ],
)
def test_the_magics_settle_links(notebook: Notebook, cell: str) -> None:
    for _ in range(2):  # the second run reuses the program
        notebook.must(cell)
        assert inexact(notebook.names["r"]) == 0


def test_a_profiled_cell_names_what_to_use(notebook: Notebook) -> None:
    ran = notebook.run("%%jaxprof --exact\nthrough(x, w)")
    assert "write %jaxprof --exact f(x)" in f"{ran.error} {ran.text}"
