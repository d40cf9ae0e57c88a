"""Random programs under random stacks give the values of plain `jax.*` calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings

from tests.magics.notebook import Notebook, open_notebook
from tests.magics.transforms.transform_grammar import MODES, Problem, Step, by_plain_jax, problems


@pytest.fixture(scope="module")
def notebook() -> Iterator[Notebook]:
    with open_notebook() as opened:
        opened.must("import jax, jax.numpy as jnp")
        yield opened


def assert_same(ours: Any, plain: Any) -> None:
    assert jax.tree_util.tree_structure(ours) == jax.tree_util.tree_structure(plain)
    for a, b in zip(jax.tree_util.tree_leaves(ours), jax.tree_util.tree_leaves(plain), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=2e-4, atol=2e-5)


@settings(
    max_examples=4,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(problem=problems())
def test_a_random_stack_gives_the_values_of_plain_jax(notebook: Notebook, problem: Problem) -> None:
    note(f"%%jaxcompose {problem.line}\n{problem.cell}")
    notebook.names.update(problem.inputs)
    ran = notebook.must(f"%%jaxcompose -q -n 1 {problem.line}\n{problem.cell}")
    assert_same(ran.value, by_plain_jax(problem))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("value", [False, True], ids=["alone", "with value"])
def test_every_mode_gives_the_value_of_plain_jax(
    notebook: Notebook, mode: str, value: bool
) -> None:
    rng = np.random.default_rng(0)
    inputs = {
        "w": jax.numpy.asarray(rng.normal(size=3), "float32"),
        "x": jax.numpy.asarray(rng.normal(size=3), "float32"),
        "c": jax.numpy.float32(1.5),
        "p": {"k": jax.numpy.float32(0.7)},
    }
    step = Step("grad", mode, ("w", "p"), value)
    problem = Problem(("h = jnp.tanh(w * x) + p['k']",), "(h ** 3).sum() * c", (step,), inputs)
    notebook.names.update(inputs)
    options = step.text().removeprefix("grad ")
    ran = notebook.must(f"%%jaxgrad -q -n 1 {options}\n{problem.cell}")
    assert_same(ran.value, by_plain_jax(problem))
    np.testing.assert_allclose(notebook.names["h"], np.tanh(inputs["w"] * inputs["x"]) + 0.7, 1e-5)
