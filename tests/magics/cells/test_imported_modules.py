"""Modules of the user's: imported by a compiled cell, and changed by one."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from jaxscope.model import Frame
from tests.magics.notebook import Notebook, open_notebook

SETUP = "import jax, jax.numpy as jnp\nx = jnp.arange(3.0)"
MODULES = {
    "tables_of_a_cell": "import jax.numpy as jnp\nTABLE = jnp.arange(3) * 2\n",
    "print_of_a_cell": "import tables_of_a_cell\nkept = print, open\n",
    "layers_of_a_cell": (
        "import jax\nimport jax.numpy as jnp\n"
        "def scaled(v):\n    return v * 2\n"
        "def dense(p, v):\n    return v @ p\n"
        "def clip(grads, norm, most):\n    if norm > most:\n"
        "        grads = jax.tree.map(lambda g: g / norm, grads)\n    return grads\n"
    ),
    "memory_of_a_cell": (
        "last = 'nothing'\nnumber = 0\n"
        "def keep(v):\n    global last\n    last = v\n"
        "def count():\n    global number\n    number += 1\n"
        "class Kept:\n    w = 'nothing'\n"
        "    @classmethod\n    def keep(cls, v):\n        cls.w = v\n"
    ),
}


@pytest.fixture
def notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Notebook]:
    for name, text in MODULES.items():
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    with open_notebook() as opened:
        opened.must(SETUP)
        yield opened


def test_a_module_that_the_cell_imports_has_arrays_and_no_tracers(notebook: Notebook) -> None:
    notebook.must("%%jaxjit -q -n 1\nimport tables_of_a_cell as t\ny = x + t.TABLE")
    assert notebook.must("t.TABLE + 1").value.tolist() == [1, 3, 5]
    np.testing.assert_array_equal(notebook.names["y"], [0, 3, 6])


def test_so_has_one_that_a_helper_imports(notebook: Notebook) -> None:
    notebook.must("def helper(v):\n    from tables_of_a_cell import TABLE\n    return v + TABLE")
    notebook.must("%%jaxjit -q -n 1\ny = helper(x)")
    assert notebook.must("import tables_of_a_cell as t\nt.TABLE + 1").value.tolist() == [1, 3, 5]


@pytest.mark.parametrize("cell", ["y = x + 1", "def f(v):\n    return v + 1\ny = f(x)"])
def test_a_module_that_keeps_print_has_that_of_python(notebook: Notebook, cell: str) -> None:
    notebook.must(f"%%jaxjit -q -n 1\nimport print_of_a_cell\n{cell}\nprint('once')")
    assert notebook.names["print_of_a_cell"].kept == (print, open)
    np.testing.assert_array_equal(notebook.names["y"], [1, 2, 3])


@pytest.mark.parametrize("call", ["m.keep(x * 2)", "m.Kept.keep(x * 2)"])
def test_a_tracer_that_a_module_keeps_is_refused_and_what_it_held_is_back(
    notebook: Notebook, call: str
) -> None:
    notebook.must("import memory_of_a_cell as m")
    ran = notebook.run(f"%%jaxjit -q -n 1\n{call}")
    assert "No variable was changed" in ran.message
    assert notebook.must("m.last, m.Kept.w").value == ("nothing", "nothing")


@pytest.mark.parametrize(
    ("magic", "form"),
    [
        ("%%jaxjit", "{}"),
        ("%%jaxjit", "def f(v):\n    return {}\nf(x)"),
        ("%%jaxwatch", "{}"),
        ("%%jaxprof", "{}"),
    ],
)
def test_an_error_in_a_module_has_the_line_of_the_module(
    notebook: Notebook, magic: str, form: str
) -> None:
    notebook.must("import layers_of_a_cell as layers\np = jnp.ones((4, 2))")
    ran = notebook.run(f"{magic}\n{form.format('layers.dense(p, x)')}")
    assert ran.message.endswith(
        "\njaxscope: layers_of_a_cell.py:6:\n    f32[3]  f32[4,2]\n    v @     p"
    )


def test_an_error_in_a_module_that_was_edited_since_shows_none_of_its_new_code(
    notebook: Notebook, tmp_path: Path
) -> None:
    notebook.must("import layers_of_a_cell as layers\np = jnp.ones((4, 2))")
    file = tmp_path / "layers_of_a_cell.py"
    file.write_text(file.read_text().replace("return v @ p", "return p @ v"))
    assert "jaxscope: layers" not in notebook.run("%%jaxjit\nlayers.dense(p, x)").message


def test_the_advice_for_a_container_in_a_module_does_what_it_says(
    notebook: Notebook, tmp_path: Path
) -> None:
    notebook.must("import layers_of_a_cell as layers\ngrads, norm, most = {'w': x}, x.sum(), 2.0")
    call = "%%jaxjit -q -n 1\nclipped = layers.clip(grads, norm, most)"
    ran = notebook.run(call)
    advised = re.search(r"write `(.*)`", ran.message)
    assert advised is not None
    place, code = "\njaxscope: layers_of_a_cell.py:8: `most` and `norm` are traced. ", advised[1]
    assert place in ran.message
    lines = MODULES["layers_of_a_cell"].splitlines()
    lines[7:9] = [f"    {code}"]
    (tmp_path / "layers_of_a_cell.py").write_text("\n".join(lines))
    notebook.must("import importlib\nimportlib.reload(layers)")
    notebook.must(call)
    np.testing.assert_allclose(notebook.names["clipped"]["w"], [0, 1 / 3, 2 / 3])


def test_lines_of_a_module_that_was_edited_after_its_trace_are_not_shown(
    notebook: Notebook, tmp_path: Path
) -> None:
    file = tmp_path / "layers_of_a_cell.py"
    notebook.must("import layers_of_a_cell as layers\nscaled = jax.jit(layers.scaled)")
    call = "%%jaxjit -n 1 -o report\ny = scaled(x)"
    notebook.must(call)
    assert "scaled" in [frame.function for frame in _frames(notebook)]
    file.write_text(f"# A new first line.\n{file.read_text()}")
    notebook.must(call)
    assert {frame.function for frame in _frames(notebook)} == {"<module>"}
    (note,) = [n for n in notebook.names["report"].record.notes if "layers_of_a_cell.py" in n]
    assert "does not have the lines of `layers_of_a_cell.py` as it is now" in note
    notebook.must("import importlib\nimportlib.reload(layers)\nscaled = jax.jit(layers.scaled)")
    notebook.must(call)
    assert "scaled" in [frame.function for frame in _frames(notebook)]
    assert not any("layers_of_a_cell.py" in n for n in notebook.names["report"].record.notes)


def _frames(notebook: Notebook) -> list[Frame]:
    (program,) = notebook.names["report"].programs
    return [frame for one in program.equations for frame in one.frames]


def test_a_function_that_changes_a_module_runs_plainly_and_once(notebook: Notebook) -> None:
    notebook.must("import memory_of_a_cell as m")
    notebook.must(
        "%%jaxjit -q -n 1\ndef f(v):\n    m.count()\n    m.keep(v)\n    return v\ny = f(x), f(x)"
    )
    number, last = notebook.must("m.number, m.last").value
    assert number == 2
    np.testing.assert_array_equal(last, notebook.names["x"])
