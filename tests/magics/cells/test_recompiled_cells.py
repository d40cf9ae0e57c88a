"""Why a cell under %%jaxjit compiled again, told in terms of the cell."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from jaxscope.model import CauseKind
from tests.magics.notebook import Notebook, open_notebook

CELL = "%%jaxjit -n 1 -o r\ny = h(x) * n\ny.sum()"


@pytest.fixture(scope="module")
def notebook() -> Iterator[Notebook]:
    with open_notebook() as made:
        made.must(
            "import jax, jax.numpy as jnp\ndef h(v):\n    return v * 2\nx = jnp.ones(4)\nn = 3"
        )
        made.must(CELL)
        yield made


def causes(notebook: Notebook, cell: str = CELL) -> list[tuple[str, str, str]]:
    """Kind, path and brief of the causes of the cell's compiles."""
    notebook.must(cell)
    compiles = notebook.names["r"].compiles
    return [(c.kind, c.path, c.brief) for compile in compiles for c in compile.causes]


def test_the_first_run_and_the_same_again(notebook: Notebook) -> None:
    (first,) = notebook.names["r"].compiles
    assert first.causes[0].kind is CauseKind.FIRST_CALL
    assert first.site is not None
    assert (first.site.source, first.site.span.line) == (0, 1)
    assert causes(notebook) == []


def test_what_changed_from_one_run_to_the_next(notebook: Notebook) -> None:
    notebook.must("x = jnp.ones(5)")
    assert causes(notebook) == [(CauseKind.SHAPE, "x", "x: f32[4] → f32[5]")]
    assert "because x: f32[4] → f32[5]" in notebook.names["r"].summary()
    notebook.must("n = 4")
    assert causes(notebook) == [(CauseKind.STATIC_VALUE, "n", "n: 3 → 4")]
    notebook.must("def h(v):\n    return v * 3")
    changed = "{} changed, which the cell reads"
    assert causes(notebook) == [(CauseKind.REDEFINED, "", changed.format("`h`"))]
    # New code must be compiled, whatever else changed.
    notebook.must("n = 6\ndef h(v):\n    return v * 4")
    assert causes(notebook) == [(CauseKind.REDEFINED, "", changed.format("`h`"))]
    # Through a function that the cell reads, and under jit.
    notebook.must("def inner(v):\n    return v * 3\n@jax.jit\ndef h(v):\n    return inner(v)")
    causes(notebook)
    notebook.must("def inner(v):\n    return v * 4\n@jax.jit\ndef h(v):\n    return inner(v)")
    assert causes(notebook) == [(CauseKind.REDEFINED, "", changed.format("`inner`"))]
    # Of a function that a call made, the code is the same, and what it holds is not compared.
    notebook.must("def made(k):\n    return lambda v: v * k\nh = made(6)")
    causes(notebook)
    notebook.must("h = made(7)")
    ((kind, _, brief),) = causes(notebook)
    assert (kind, "something that it calls or reads changed" in brief) == (
        CauseKind.REDEFINED,
        True,
    )
    # Without a front end's cell ids, the first line of the code tells cells apart.
    edited = CELL.replace("y.sum()", "y.sum() + 1")
    assert causes(notebook, edited) == [(CauseKind.REDEFINED, "", "the code of the cell changed")]
    notebook.must("x = jnp.ones((2, 2))\nn = 5")
    assert [cause[:2] for cause in causes(notebook, edited)] == [
        (CauseKind.STATIC_VALUE, "n"),
        (CauseKind.RANK, "x"),
    ]


def test_a_numpy_integer_in_place_of_a_float_has_a_fix_that_is_python(notebook: Notebook) -> None:
    cell = "%%jaxjit -n 1 -o r\nscaled = x * factor"
    notebook.must("import numpy as np\nfactor = 2.0")
    notebook.must(cell)
    notebook.must("factor = np.int32(2)")
    notebook.must(cell)
    (cause,) = notebook.names["r"].compiles[0].causes
    assert "is now a compile-time constant (int32 2)" in cause.text
    assert cause.fix.startswith("Write `2.0` for `factor`: a float is traced")


def test_two_cells_are_not_compared_with_each_other(notebook: Notebook) -> None:
    ((kind, *_),) = causes(notebook, "%%jaxjit -n 1 -o r\nz = x - 17\nz.sum()")
    assert kind is CauseKind.FIRST_CALL


def test_a_decorated_cell_that_is_run_again_defines_its_function_again(notebook: Notebook) -> None:
    cell = "%%jaxjit --decorate -n 1 -o r\ndef g(a):\n    return a + 1\ng(x)"
    assert causes(notebook, cell)[0][0] is CauseKind.FIRST_CALL
    assert causes(notebook, cell)[0] == (CauseKind.REDEFINED, "g", "g was redefined")


def test_a_call_in_one_line_is_compared_with_the_users_own_calls(notebook: Notebook) -> None:
    notebook.must("@jax.jit\ndef f(x, k):\n    return x * k\nf(x, 1.0)")
    assert causes(notebook, "%jaxjit -o r f(x, 2)") == [
        (CauseKind.VALUE_KIND, "k", "k: Python float → Python int")
    ]


def test_a_call_is_compared_by_the_function_that_it_calls(notebook: Notebook) -> None:
    def briefs() -> list[str]:
        return [brief for *_, brief in causes(notebook, call)]

    call = "%jaxjit -n 1 -o r f(x)"
    notebook.must("w, x = 2.0, jnp.ones(7)\ndef f(v):\n    return (v * w).sum()")
    assert causes(notebook, call)[0][0] is CauseKind.FIRST_CALL
    notebook.must("# elsewhere\ndef f(v):\n    return (v * w).sum()")
    assert briefs() == []
    notebook.must("def f(v):\n    return (v * w).max()")
    assert briefs() == ["f was redefined"]
    notebook.must("w = 3.0")
    assert briefs() == ["`w` changed, which `f` reads"]
    notebook.must("f = jax.vmap(f)")
    assert briefs() == ["f was redefined"]


def test_a_call_is_compared_by_its_static_fields_and_its_defaults(notebook: Notebook) -> None:
    notebook.must(
        "from dataclasses import dataclass\n"
        "from functools import partial\n"
        "@partial(jax.tree_util.register_dataclass, data_fields=['pos'], meta_fields=['mass'])\n"
        "@dataclass\n"
        "class State:\n"
        "    pos: jax.Array\n"
        "    mass: float\n"
        "x = jnp.ones(7)"
    )
    (_, changed) = causes(
        notebook,
        "%%jaxjit -n 1 -o r\n"
        "def leap(s, dt):\n"
        "    return s.pos + dt / s.mass\n"
        "a = leap(State(x, 2.0), 0.1)\n"
        "b = leap(State(x, 3.0), 0.1)",
    )
    assert changed == (CauseKind.STATIC_VALUE, "s.mass", "s.mass: 2.0 → 3.0")
    (_, flag, mu) = causes(
        notebook,
        "%%jaxjit -n 1 -o r\n"
        "def scaled(x, mu, flag=True):\n"
        "    return x * mu if flag else -x * mu\n"
        "a = scaled(x, 1.5)\n"
        "b = scaled(x, 1.5, flag=False)\n"
        "c = scaled(x, 2)",
    )
    assert flag == (CauseKind.STATIC_VALUE, "flag", "flag: True → False")
    assert mu == (CauseKind.STATIC_VALUE, "mu", "mu: float → int 2")


def test_a_call_with_another_function(notebook: Notebook) -> None:
    cell = "%%jaxjit -n 1 -o r\ndef use(x, fn):\n    return fn(x)\n"
    (_, changed) = causes(notebook, f"{cell}a = use(x, jnp.sin)\nb = use(x, jnp.cos)")
    assert changed == (CauseKind.STATIC_VALUE, "fn", "fn: sin → cos")


def test_two_lambdas_of_a_line_are_two_functions(notebook: Notebook) -> None:
    notebook.must(
        "%%jaxjit -n 1 -o r\ndef f(v): return v @ v\n"
        "g = (lambda a: a + 1); h = (lambda a: a * 2); k = g(h(f(x)))"
    )
    report = notebook.names["r"]
    assert [c.causes[0].kind for c in report.compiles if "lambda" in c.fun_name] == [
        CauseKind.FIRST_CALL,
        CauseKind.FIRST_CALL,
    ]
    assert "redefined" not in str(report)
