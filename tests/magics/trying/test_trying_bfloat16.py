"""`%jaxtry --bf16`: results that differ on purpose, and names that stay as they were."""

from __future__ import annotations

import gc
from typing import Any

import jax
import pytest

from jaxscope.model.variants import TrialVerdict
from tests.magics.notebook import Notebook
from tests.magics.trying.trials import tried

pytestmark = pytest.mark.jax
PRECISION = "jax_default_matmul_precision"
NOISE = "w = jax.random.normal(jax.random.key(0), (64, 64))"


def both(notebook: Notebook) -> Any:
    inputs, products = tried(notebook, "%jaxtry --bf16")
    return inputs, products


def test_the_difference_of_the_results_is_beside_the_gain(notebook: Notebook) -> None:
    notebook.must(NOISE)
    notebook.must("%%jaxjit -n 1\ny = jnp.tanh(w @ b)")
    inputs, products = both(notebook)
    assert inputs.verdict is products.verdict is TrialVerdict.BETTER
    assert 1e-3 < inputs.error < 0.1
    assert inputs.cell.split("\n") == [
        "w = jax.numpy.asarray(w, 'bfloat16')",
        "b = jax.numpy.asarray(b, 'bfloat16')",
    ]
    assert products.cell == 'jax.config.update("jax_default_matmul_precision", "BF16_BF16_F32")'
    assert getattr(jax.config, PRECISION) is None
    assert notebook.names["w"].dtype == "float32"
    shown = " ".join(notebook.must("%jaxtry --bf16").text.split())
    assert "2 changes tried" in shown
    assert "results differ by up to" in shown


def test_apply_inserts_the_better_change(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    inserted: list[str] = []
    monkeypatch.setattr(notebook.shell, "set_next_input", lambda s: inserted.append(s))
    notebook.must("%%jaxjit -n 1\ny = 2 * b")  # no product: only the inputs can be better
    notebook.must("%jaxtry --bf16 --apply")
    assert inserted == ["b = jax.numpy.asarray(b, 'bfloat16')"]


def test_the_arguments_of_a_call_and_a_tree(notebook: Notebook) -> None:
    notebook.must(f"import jaxscope\n{NOISE}\ntree = {{'w': w, 'n': jnp.arange(3)}}")
    notebook.must("def f(tree, b):\n    return tree['w'] @ b")
    notebook.must("report = jaxscope.inspect(f, tree, b)")
    inputs, _ = notebook.names["report"].try_bfloat16()
    assert inputs.verdict is TrialVerdict.BETTER
    assert inputs.error > 1e-3
    notebook.must("%jaxjit -n 1 f(tree, b)")
    inputs, _ = both(notebook)
    assert inputs.error > 1e-3
    assert "tree = jax.tree.map(" in inputs.cell


def test_the_calls_of_a_cells_own_functions(notebook: Notebook) -> None:
    notebook.must(NOISE)
    notebook.must("%%jaxjit -n 1\ndef f(w, b):\n    return w @ b\n\ny = f(w, b)")
    inputs, _ = both(notebook)
    assert inputs.verdict is TrialVerdict.BETTER, inputs.why
    assert inputs.error > 1e-3


def test_a_program_without_floats_or_with_a_product_that_overflows(notebook: Notebook) -> None:
    notebook.must("%%jaxjit -n 1\ni = jnp.arange(8) * 2")
    inputs, products = both(notebook)
    assert inputs.verdict is TrialVerdict.NOT_TRIED
    assert "No input of the code is an array of float32" in inputs.why
    assert products.verdict is TrialVerdict.SAME
    notebook.must("%%jaxjit -n 1\ny = jnp.where(b.dtype == jnp.bfloat16, jnp.inf, b)")
    assert both(notebook)[0].verdict is TrialVerdict.RESULTS_DIFFER


def test_an_argument_that_is_gone(notebook: Notebook) -> None:
    notebook.must("import jaxscope\ndef f(m):\n    return m @ m")
    notebook.must("report = jaxscope.inspect(f, jnp.eye(600))")
    gc.collect()
    with pytest.raises(ValueError, match="An input of `f` is gone since the run"):
        notebook.names["report"].try_bfloat16()


def test_a_line_that_it_does_not_take(notebook: Notebook) -> None:
    notebook.must("%%jaxjit -n 1\ny = 2 * b")
    assert "give it no findings" in notebook.run("%jaxtry --bf16 1").message
