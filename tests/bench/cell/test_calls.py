"""Cells of plain Python whose functions are the implementations."""

from __future__ import annotations

import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxscope.bench.cell.sections import CellError
from tests.bench.cell.test_plan import planned, results

LOOP = "def loop(a):\n    return np.dot(a, a)\n"
BOTH = LOOP + "@jax.jit\ndef gram(a):\n    return jnp.dot(a, a)\n"


def summary(text: str, **asked: object) -> list[tuple[str, str]]:
    return [(one.label, one.implementation) for one in planned(text, **asked).entries]


@pytest.mark.parametrize(
    "calls",
    [
        "for n in (2, 4):\n    a = np.ones(n)\n    loop(a)\n    gram(a)\n",
        "for n in range(2, 6, 2):\n    a = np.ones(n)\n    y = loop(a)\n    z = gram(a)\n",
        """for n in [2**k for k in (1, 2)]:
    a = np.ones(n)
    for f in (loop, gram):
        f(a)
""",
        """sizes = [4, 2]
for n in sizes:
    a = np.ones(n)
    loop(a); gram(a).block_until_ready()
""",
        """def made(n):
    return np.ones(n)
for n in (2, 4):
    a = made(n)
    loop(a)
    jax.block_until_ready(gram(a))
""",
    ],
)
def test_a_loop_gives_the_sizes_and_its_calls_are_timed(calls: str):
    plan = planned(BOTH + calls, {"x": np.ones(4)})
    assert [(e.label, e.implementation) for e in plan.entries] == [
        ("loop", "numpy"),
        ("gram", "jax"),
    ]
    assert plan.sizes == ({"n": 2}, {"n": 4})
    assert list(plan.inputs({"n": 4})) == ["a"]
    assert results(plan, {"n": 4}) == [4.0, 4.0]
    # A fresh process reads the cell again.
    again = pickle.loads(pickle.dumps(plan))
    assert again.sizes == plan.sizes
    assert results(again, {"n": 2}) == [2.0, 2.0]


def test_calls_and_definitions_alone_are_enough():
    assert summary(BOTH + "loop(x)\ngram(x)") == [("loop", "numpy"), ("gram", "jax")]
    named = BOTH.replace("(a):", "(x):").replace("(a, a)", "(x, x)")
    assert summary(named) == [("loop", "numpy"), ("gram", "jax")]
    assert results(planned(named), {}) == [4.0, 4.0]
    twice = planned(BOTH + "loop(x)\nloop(x + 1)\ngram(x)")
    assert [one.label for one in twice.entries] == ["loop(x)", "loop(x + 1)", "gram"]
    assert results(twice, {}) == [4.0, 16.0, 4.0]


def test_the_framework_is_the_one_that_the_code_calls():
    inner = "import jax.numpy as J\ndef inner(a):\n    return J.sin(a)\n"
    eager = inner + "def f(a):\n    return inner(a)\n"
    plan = planned(eager + LOOP + "f(x)\nloop(x)")
    assert [(e.label, e.implementation) for e in plan.entries] == [
        ("f", "jax-eager"),
        ("loop", "numpy"),
    ]
    assert plan.notes() == ("`f` is not under `jax.jit`: it runs as written.",)


@pytest.mark.parametrize(
    ("calls", "runs_on"),
    [
        ("plain(x)\ngram(x)", "jax-eager"),
        ("plain(n)\ngram(n)", "numpy"),
        ("y = x + 1\nplain(y)\ngram(y)", "jax-eager"),
        ("n = jnp.ones(4)\nplain(n)\ngram(n)", "jax-eager"),
        ("x = np.ones(4)\nplain(x)\ngram(x)", "numpy"),
        ("for k in (2, 4):\n    a = jnp.ones(k)\n    plain(a)\n    gram(a)\n", "jax-eager"),
    ],
)
def test_a_function_that_names_no_framework_runs_on_that_of_its_arrays(calls: str, runs_on: str):
    cell = "def plain(a):\n    return a @ a\n@jax.jit\ndef gram(a):\n    return jnp.dot(a, a)\n"
    plan = planned(cell + calls, {"x": jnp.ones(4), "n": np.ones(4)})
    assert [e.implementation for e in plan.entries] == [runs_on, "jax"]
    eager = ("`plain` is not under `jax.jit`: it runs as written.",)
    assert plan.notes() == (eager if runs_on == "jax-eager" else ())


@pytest.mark.parametrize(
    "setup",
    [
        "g = jax.jit(norm)",
        "@jax.jit\ndef g(v):\n    return norm(v)",
        "from flax import nnx\ng = nnx.jit(norm)",
    ],
)
def test_what_the_cell_itself_jits_is_under_a_jit(setup: str):
    space = {"x": jnp.ones(4), "norm": lambda v: jnp.sin(v)}
    assert planned(f"{setup}\nk = norm\ng(x)\nk(x)", space).notes() == (
        "`k(x)` is not under `jax.jit`: it runs as written.",
    )


def test_sizes_of_the_line_replace_those_of_the_loop():
    cell = BOTH + "for n in (2, 4):\n    a = np.ones(n)\n    loop(a)\n    gram(a)\n"
    assert planned(cell, sizes=({"n": 8},)).sizes == ({"n": 8},)


@pytest.mark.parametrize(
    "calls",
    [
        "for n in (2, 4):\n    a = np.ones(n)\n    print(loop(a), gram(a))\n",
        "for n, m in ((2, 4),):\n    loop(x)\n    gram(x)\n",
        "for n in (2, 4):\n    if n > 2:\n        loop(x)\n    gram(x)\n",
        "for n in range(10**15):\n    loop(x)\n    gram(x)\n",
        "for n in open(x):\n    loop(x)\n    gram(x)\n",
        "for n in (2, -4):\n    loop(x)\n    gram(x)\n",
        "while x:\n    loop(x)\n    gram(x)\n",
    ],
)
def test_a_cell_that_may_mean_something_else_shows_its_calls_as_sections(calls: str):
    with pytest.raises(CellError, match="statement") as raised:
        planned(BOTH + calls)
    first, *lines = str(raised.value).partition("`--sizes n=16,64`:\n")[2].splitlines()
    assert first == "    # numpy: loop"
    assert [line.strip() for line in lines][1:] in (
        ["# jax: gram", "gram(x)"],
        ["# jax: gram", "gram(a)"],
    )
    code = "\n".join(line.strip() for line in (first, *lines)).replace("(a)", "(x)")
    # What it shows is a cell that runs.
    made = planned(BOTH + code)
    assert [e.label for e in made.entries] == ["numpy: loop", "jax: gram"]
    assert results(made, {}) == [4.0, 4.0]


def test_a_part_of_an_array_is_taken_once_by_the_rules_of_that_array():
    code = "loop(x[[0, 2]])\ngram(x[[0, 2]])"  # a list is no index of a JAX array
    made = planned(BOTH + code, {"x": np.arange(4.0), "np": np, "jnp": jnp})
    assert results(made, {}) == [4.0, 4.0]


def test_cells_with_a_meaning_of_their_own_keep_it():
    shared = "def f(v):\n    return xp.sum(v)\ndef g(v):\n    return f(v)\ng(x)"
    assert summary(shared) == [("numpy", "numpy"), ("jax", "jax")]
    assert summary(BOTH + "loop(x) + gram(x)") == [("jax", "jax")]  # one of the two calls it
    assert summary(BOTH + "loop(x)\ngram(x)", vs=("numpy",)) == [("numpy", "numpy")]
    assert summary(BOTH + "# numpy\nloop(x)") == [("numpy", "numpy")]


def test_expressions_of_one_input_are_implementations():
    space = {"x": np.ones(4, "f"), "np": np, "jnp": jnp, "norm": jax.jit(jnp.linalg.norm)}
    plan = planned("y = x + 1\nnp.dot(y, y)\njnp.dot(y, y)\nnorm(y)**2", space)
    assert [(one.label, one.implementation) for one in plan.entries] == [
        ("np.dot(y, y)", "numpy"),
        ("jnp.dot(y, y)", "jax-eager"),
        ("norm(y)**2", "jax-eager"),
    ]
    assert results(plan, {}) == [16.0, 16.0, 16.0]
    assert plan.notes() == ("`jnp.dot(y, y)` is not under `jax.jit`: it runs as written.",)
    again = pickle.loads(pickle.dumps(planned("np.dot(x, x)\nx @ x", {"x": np.ones(4)})))
    assert results(again, {}) == [4.0, 4.0]


@pytest.mark.parametrize(
    "text",
    [
        "np.random.seed(0)\nnp.exp(x)",  # no input in common
        "xp.exp(x)\nxp.sin(x)",  # shared by all frameworks
        "print(x)\ny = np.exp(x)\ny",  # set-up between
        "np.exp(x)",
    ],
)
def test_other_expressions_are_one_shared_source(text: str):
    plan = planned(text, {"x": np.ones(4), "np": np}, vs=())
    assert "numpy" in [one.label for one in plan.entries]


def test_a_line_of_name_and_expression_is_written_as_sections():
    with pytest.raises(CellError, match="an annotation") as raised:
        planned("numpy: np.exp(x)\njax: jnp.exp(x)")
    assert str(raised.value).splitlines()[-4:] == [
        "    # numpy",
        "    np.exp(x)",
        "    # jax",
        "    jnp.exp(x)",
    ]


@pytest.mark.parametrize(
    "calls",
    [
        "loop(np.ones(3))\ngram(jnp.ones(3))\n",
        "loop(np.ones(3)); gram(jnp.ones(3))\n",
        "loop(a=np.ones(3))\ngram(a=jnp.ones(\n    3))\n",
        "for n in (3,):\n    loop(np.ones(n))\n    gram(jnp.ones(n))\n",
        "for f in (loop, gram):\n    f(np.ones(3))\n",
        "loop(np.ones(3, np.float32))\ngram(jnp.ones(3))\n",
    ],
)
def test_an_array_that_an_argument_makes_is_an_input(calls: str):
    plan = planned(BOTH + calls, {"a": 5.0, "np": np, "jnp": jnp})
    assert [one.label for one in plan.entries] == ["loop", "gram"]
    size = plan.sizes[0] if plan.sizes else {}
    found = plan.inputs(size)
    assert [(name, value.shape) for name, value in found.items()] == [("a_", (3,))]
    assert results(plan, size) == [3.0, 3.0]


def test_arguments_that_are_not_the_same_array_are_timed_as_written():
    calls = "loop(np.ones(3))\ngram(jnp.zeros(3))\n"
    assert not planned(BOTH + calls, {"np": np, "jnp": jnp}).inputs({})
    calls = "loop(np.full(3, np.pi))\ngram(jnp.full(3, jnp.e))\n"
    assert not planned(BOTH + calls, {"np": np, "jnp": jnp}).inputs({})
    plan = planned(BOTH + "loop(np.sin(x))\ngram(jnp.sin(x))\n", {"x": np.ones(4, "f"), "np": np})
    assert list(plan.inputs({})) == ["x"]
