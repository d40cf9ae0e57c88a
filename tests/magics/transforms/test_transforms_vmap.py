"""Batching through the magics: the transforms in each form, and functions of other cells."""

from __future__ import annotations

from collections.abc import Iterator

import jax
import pytest

import jaxscope
from jaxscope.model import Batching, Program
from tests.magics.notebook import Notebook, open_notebook

SETUP = """
import jax, jax.numpy as jnp
m = jnp.arange(9.0).reshape(3, 3) / 7
x, w, xs = jnp.ones((5, 3)), jnp.ones(3), jnp.ones((4, 5, 3))
"""


@pytest.fixture
def notebook() -> Iterator[Notebook]:
    with open_notebook() as opened:
        opened.must(SETUP)
        yield opened


def shown(notebook: Notebook, cell: str) -> tuple[Program, Batching]:
    notebook.must(cell)
    program = jaxscope.last().programs[0]
    assert isinstance(program.vmap, Batching)
    return program, program.vmap


def over(program: Program, batching: Batching, primitive: str) -> list[tuple[int, ...]]:
    return [
        each.over
        for each in batching.equations
        if program.equations[each.equation].primitive == primitive
    ]


def test_a_cell_for_one_example_shows_what_the_batch_shares(notebook: Notebook) -> None:
    program, batching = shown(
        notebook, "%%jaxvmap -q -n 1 -i x=0 -i w=None\ns = jnp.cos(w).sum()\ny = jnp.sin(x) * s"
    )
    assert [axis.size for axis in batching.axes] == [5]
    assert over(program, batching, "cos") == over(program, batching, "reduce_sum") == [()]
    assert over(program, batching, "sin") == over(program, batching, "mul") == [(0,)]


def test_a_vmap_inside_such_a_cell_is_an_axis_under_it(notebook: Notebook) -> None:
    program, batching = shown(
        notebook,
        "%%jaxvmap -q -n 1 -i xs=0 -i w=None\n"
        "y = jax.vmap(lambda row: jnp.sin(row) * jnp.cos(w))(xs)\n",
    )
    assert [(axis.size, axis.line) for axis in batching.axes] == [(4, None), (5, 2)]
    assert over(program, batching, "sin") == [(0, 1)]
    assert over(program, batching, "cos") == [()]


def test_a_stack_of_transforms_is_followed_through_the_gradient(notebook: Notebook) -> None:
    program, batching = shown(
        notebook,
        "%%jaxcompose -q -n 1 jit | vmap -i x=0 -i w=None | grad -w w\n"
        "(jnp.sin(w) * jnp.tanh(x)).sum()\n",
    )
    assert over(program, batching, "cos") == [()]
    assert over(program, batching, "tanh") == [(0,)]


def test_decorator_and_line_form_show_the_same(notebook: Notebook) -> None:
    body = "def f(x, w):\n    return jnp.sin(x) * jnp.cos(w)\n"
    program, batching = shown(notebook, f"%%jaxvmap -q -n 1 -i x=0 -i w=None\n{body}f(x, w)\n")
    assert over(program, batching, "sin") == [(0,)]
    assert over(program, batching, "cos") == [()]
    notebook.must(body)
    program, batching = shown(notebook, "%jaxvmap -q -n 1 -i x=0 -i w=None f(x, w)")
    assert over(program, batching, "cos") == [()]


def test_every_form_says_what_becomes_of_the_inputs(notebook: Notebook) -> None:
    def reasons(cell: str) -> dict[str, str]:
        notebook.must(cell)
        return {value.name: value.reason for value in jaxscope.last().programs[0].inputs}

    body = "def f(x, w):\n    return jnp.sin(x) * jnp.cos(w)\n"
    expected = {"x": "jax.Array, vmap along axis 0", "w": "jax.Array, whole under vmap"}
    head = "%%jaxvmap -q -n 1 -i x=0 -i w=None\n"
    assert reasons(f"{head}jnp.sin(x) * jnp.cos(w)") == expected
    assert reasons(f"{head}{body}f(x, w)\n") == expected
    assert reasons("%jaxvmap -q -n 1 -i x=0 -i w=None f(x, w)") == expected
    # The last axis of each, then the first of what is left.
    stack = "%%jaxcompose -q -n 1 vmap -i a=-1 | vmap -i a=0 -i p=None"
    cell = f"{stack}\ndef g(a, p):\n    return a * p['w'].sum()\ng(xs, {{'w': w}})\n"
    assert reasons(cell) == {
        "a": "jax.Array, vmap along axis 2, vmap along axis 0",
        "p['w']": "jax.Array, whole under vmap, whole under vmap",
    }
    # JAX takes no axes for what is given by keyword.
    by_keyword = f"%%jaxvmap -q -n 1\n{body}f(x, w=jnp.ones(5))\n"
    assert reasons(by_keyword)["w"] == "jax.Array, vmap along axis 0"
    assert reasons(f"%%jaxjit -q -n 1\n{body}f(x, w)\n") == {"x": "jax.Array", "w": "jax.Array"}


def test_a_function_that_jax_has_traced_is_known_when_the_cell_runs_again(
    notebook: Notebook,
) -> None:
    notebook.must(
        "@jax.jit\ndef step(w, x):\n    return jax.vmap(lambda a: jnp.sin(a) * jnp.cos(w))(x)\n"
    )
    cell = "%%jaxjit -q -n 1\ny = step(w, x).sum()\n"
    first = shown(notebook, cell)
    second = shown(notebook, cell)
    for program, batching in (first, second):
        assert [axis.size for axis in batching.axes] == [5]
        assert over(program, batching, "cos") == [()]
        assert over(program, batching, "sin") == [(0,)]


def test_a_name_that_a_rule_of_jax_left_behind_is_no_map(notebook: Notebook) -> None:
    # The rule of `eigvals` solves with a vmap of its own, of which only the name remains.
    ran = notebook.must(
        "%%jaxgrad -n 1 -w m\nradius = jnp.abs(jnp.linalg.eigvals(jnp.eye(3) + 1j * m)).max()"
    )
    assert jaxscope.last().programs[0].vmap is None
    assert "Batching" not in ran.text


def test_the_other_mode_of_a_jacobian_is_counted_for_one_example(notebook: Notebook) -> None:
    ran = notebook.must("%%jaxcompose -n 1 vmap -i x=0 | jacfwd -w w\njnp.sin(x @ w)")
    words = " ".join(ran.text.split())
    assert "3 JVPs, one per input number" in words
    assert "Reverse mode would take 1 VJP," in words
    assert "reverse mode fits" in words


@pytest.mark.xfail(
    jax.__version_info__ < (0, 9), reason="the inner vmap of a rule is lost there", strict=True
)
def test_the_rule_of_an_activation_is_batched_as_the_activation(notebook: Notebook) -> None:
    """`jax.nn.relu` under two vmaps, as in `eqx.nn.MLP`: its derivative reads the same values."""
    notebook.must("grid = jnp.ones((5, 3))")
    program, batching = shown(
        notebook,
        "%%jaxgrad -n 1 -w grid\njax.vmap(lambda r: jax.vmap(jax.nn.relu)(r * 2))(grid).sum()",
    )
    for primitive in ("max", "gt", "select_n"):
        assert over(program, batching, primitive) == [(0, 1)]
