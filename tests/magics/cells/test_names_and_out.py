"""`-o` beside the cell's own names, and IPython's choice of what a cell shows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tests.magics.notebook import Notebook, open_notebook


@pytest.fixture
def notebook() -> Iterator[Notebook]:
    with open_notebook() as opened:
        opened.must("import jax.numpy as jnp\nx = jnp.arange(3.0)")
        yield opened


@pytest.mark.parametrize("magic", ["%%jaxjit -q -n 1", "%%jaxprof -q"])
@pytest.mark.parametrize("name", ["y", "x"])
def test_a_report_does_not_replace_a_name_of_the_cell(
    notebook: Notebook, capsys: pytest.CaptureFixture[str], magic: str, name: str
) -> None:
    ran = notebook.run(f"{magic} -o {name}\ny = x * 2")
    said = ran.printed + "".join(capsys.readouterr()) + (ran.message if ran.error else "")
    assert f"-o names `{name}`, which this cell uses itself" in said
    assert "y" not in notebook.names
    np.testing.assert_array_equal(notebook.names["x"], [0, 1, 2])


@pytest.mark.parametrize("magic", ["%%jaxjit -q -n 1", "%%jaxprof -q", "%%jaxwatch -q", ""])
@pytest.mark.parametrize("body", ["y = x * 2", "def f(v):\n    return v * 2\ny = f(x)"])
def test_the_last_assignment_is_shown_where_ipython_shows_it(
    notebook: Notebook, magic: str, body: str
) -> None:
    shell = notebook.shell
    before = shell.ast_node_interactivity
    shell.ast_node_interactivity = "last_expr_or_assign"
    try:
        value = notebook.must(f"{magic}\n{body}").value
        silent = notebook.must(f"{magic}\n{body};").value
    finally:
        shell.ast_node_interactivity = before
    np.testing.assert_array_equal(value, [0, 2, 4])
    assert silent is None


def test_the_objects_beyond_the_snapshot_are_noted(notebook: Notebook) -> None:
    note = "The inputs hold more than 50 000 objects: in-place changes of the rest are not detected"
    for number in (10, 60_000):
        notebook.must(f"bag = {{'rows': [[i] for i in range({number})], 'w': 2.0}}")
        ran = notebook.must("%%jaxjit -n 1\ny = x * bag['w']")
        assert (note in " ".join(ran.text.split())) is (number > 50_000)
