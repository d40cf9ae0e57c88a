"""`-o` beside the cell's own names, and IPython's choice of what a cell shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.magics.cells.cell_shell import SilentHook
from tests.magics.notebook import Notebook, open_notebook


@pytest.fixture
def notebook() -> Iterator[Notebook]:
    with open_notebook() as opened:
        opened.must("import jax.numpy as jnp\nx = jnp.arange(3.0)")
        yield opened


@pytest.mark.parametrize("magic", ["%%jaxjit -q -n 1", "%%jaxprof -q", "%%jaxwatch -q"])
@pytest.mark.parametrize("name", ["y", "x"])
def test_a_report_does_not_replace_a_name_of_the_cell(
    notebook: Notebook, capsys: pytest.CaptureFixture[str], magic: str, name: str
) -> None:
    ran = notebook.run(f"{magic} -o {name}\ny = x * 2")
    said = ran.printed + "".join(capsys.readouterr()) + (ran.message if ran.error else "")
    assert f"-o names `{name}`, which this cell uses itself" in said
    assert "y" not in notebook.names
    np.testing.assert_array_equal(notebook.names["x"], [0, 1, 2])


@pytest.mark.parametrize("magic", ["%jaxjit -q -n 1", "%jaxprof -q", "%jaxvmap -q -n 1"])
def test_a_report_does_not_replace_a_name_of_the_call(
    notebook: Notebook, capsys: pytest.CaptureFixture[str], magic: str
) -> None:
    ran = notebook.run(f"{magic} -o x jnp.sin(x)")
    said = ran.printed + "".join(capsys.readouterr()) + (ran.message if ran.error else "")
    assert "-o names `x`, which this call uses itself" in said
    np.testing.assert_array_equal(notebook.names["x"], [0, 1, 2])


FUNCTION = "def f(v):\n    return v * 2\nf(x)\n1 + 1\n"
BODIES = {
    "expressions": "x\nx.sum()\ny = x * 2\ny",
    "a semicolon": "x\nx * 2;",
    "assignment last": "x * 3\ny = x * 2",
    "augmented": "y = x\ny += 1",
    "annotated": "y: object = x + 1",
    "attribute": "class C: pass\nc = C()\nc.y = 3",
    "two names": "y, z = x, x + 1",
    "loop last": "x\nfor i in range(2):\n    i\n    x + i",
    "if and try": "if True:\n    x + 1\ntry:\n    x * 5\nfinally:\n    7",
    "docstring": "'a text'\nx",
    "future": "from __future__ import annotations\nx + 2\nx",
    "class body": "class C:\n    3\n    y = 4\nC.y\nC().y",
    "functions": f"{FUNCTION}y = f(x)\ny.sum()",
    "functions, assignment last": f"{FUNCTION}y = f(x)",
    "functions, loop last": f"{FUNCTION}for i in range(2):\n    f(x + i)",
    "functions, semicolon": f"{FUNCTION}f(x);",
    "nothing": "None",
}
MODES = ("all", "last", "last_expr", "last_expr_or_assign", "none")
MAGICS = ("%%jaxjit -q -n 1", "%%jaxjit -q -n 1 --decorate", "%%jaxprof -q", "%%jaxwatch -q")


@pytest.fixture
def displayed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Values that IPython showed and put into `Out`, as text."""
    found: list[str] = []
    original = SilentHook.fill_exec_result

    def noted(self: SilentHook, result: Any) -> None:
        found.append(repr(result))
        original(self, result)

    monkeypatch.setattr(SilentHook, "fill_exec_result", noted)
    return found


def shows(notebook: Notebook, displayed: list[str], cell: str) -> tuple[list[str], str]:
    """The values that a cell shows, and its `Out`."""
    displayed.clear()
    number = notebook.shell.execution_count
    notebook.must(cell)
    return displayed[:], repr(notebook.names["Out"].get(number))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("body", BODIES)
def test_a_cell_shows_what_ipython_shows(
    notebook: Notebook, displayed: list[str], mode: str, body: str
) -> None:
    notebook.shell.ast_node_interactivity = mode
    expected = shows(notebook, displayed, BODIES[body])
    for magic in MAGICS:
        assert shows(notebook, displayed, f"{magic}\n{BODIES[body]}") == expected, magic


def test_other_modes_of_ipython_show_more_than_the_default(
    notebook: Notebook, displayed: list[str]
) -> None:
    counts: dict[str, int] = {}
    for mode in MODES:
        notebook.shell.ast_node_interactivity = mode
        counts[mode] = sum(len(shows(notebook, displayed, body)[0]) for body in BODIES.values())
    assert counts["all"] > counts["last"] > counts["last_expr"] > counts["none"] == 0
    assert counts["last_expr_or_assign"] > counts["last_expr"]


@pytest.mark.parametrize(
    ("magic", "last"),
    [("%%jaxgrad -w x", "Array([0., 2., 4.], dtype=float32)"), ("%%jaxvmap", "Array([0., 1., 4.]")],
)
@pytest.mark.parametrize("function", [False, True])
def test_a_transformed_cell_shows_every_expression(
    notebook: Notebook, displayed: list[str], magic: str, last: str, function: bool
) -> None:
    notebook.shell.ast_node_interactivity = "all"
    if function:
        magic = magic.removesuffix(" -w x")
        cell = f"{magic} -q -n 1\ndef f(v):\n    return (v**2).sum()\n'before'\nf(x)"
    else:
        cell = f"{magic} -q -n 1\n'before'\n(x**2).sum()"
    found, _ = shows(notebook, displayed, cell)
    assert found[0] == "'before'"
    assert found[1].startswith(last)
    assert len(found) == 2


def test_the_objects_beyond_the_snapshot_are_noted(notebook: Notebook) -> None:
    note = "The inputs hold more than 50 000 objects: in-place changes of the rest are not detected"
    for number in (10, 50_010):
        notebook.must(f"bag = {{'rows': [[] for _ in range({number})], 'w': 2.0}}")
        ran = notebook.must("%%jaxjit -n 1\ny = x * bag['w']")
        assert (note in " ".join(ran.text.split())) is (number > 50_000)
