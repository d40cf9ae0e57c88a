"""Line magics of an expression: it runs once, compiled, and what runs eagerly is of the cell."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import jaxscope
from tests.magics.notebook import Notebook, open_notebook

SETUP = """
import jax
import jax.numpy as jnp
x = jnp.arange(6.0)
def user(v):
    print("ran")
    return v * 2
"""


@pytest.fixture
def notebook() -> Iterator[Notebook]:
    with open_notebook() as opened:
        opened.must(SETUP)
        yield opened


@pytest.mark.parametrize("text", ["jnp.sin(user(x)).sum()", "(user(x) + 1).mean()", "user(x) + 1"])
def test_an_expression_is_compiled_as_a_whole_and_runs_once(notebook: Notebook, text: str) -> None:
    ran = notebook.must(f"%jaxjit -n 1 {text}")
    assert ran.printed.splitlines().count("ran") == 1
    (program,) = jaxscope.last().programs
    assert "mul" in {equation.primitive for equation in program.equations}
    assert [value.name for value in program.inputs] == ["x"]
    np.testing.assert_allclose(ran.value, notebook.must(text).value, rtol=1e-6)


def test_the_method_of_an_array_that_is_there_has_the_array_as_its_input(
    notebook: Notebook,
) -> None:
    notebook.must("%jaxjit -q -n 1 x.sum()")
    (program,) = jaxscope.last().programs
    assert [value.name for value in program.inputs] == ["x"]


def test_a_method_of_an_object_that_the_expression_makes_is_called(notebook: Notebook) -> None:
    notebook.must("class Scale:\n    def apply(self, v): return v * 3")
    ran = notebook.must("%jaxjit -q -n 1 Scale().apply(x)")
    np.testing.assert_allclose(ran.value, 3 * np.arange(6.0))


def test_an_eager_operation_of_an_argument_is_of_the_cell_that_has_the_magic(
    notebook: Notebook,
) -> None:
    notebook.must("%jaxwatch on")
    notebook.must("%jaxjit -q -n 1 user(jnp.ones(17) * 3.5)")
    text = notebook.must("%jaxlog").text
    assert "eager" in text
    assert "<call>" not in text


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("jax.vmap(model)(rows)", "jit(vmap(Model))"),
        ("jnp.linalg.norm(rows)", "jit(norm)"),  # jitted, and traced before in the first cell
        ("jax.jit(jax.nn.softmax)(rows)", "jit(softmax)"),
    ],
)
def test_the_code_of_a_library_is_at_the_line_of_the_call(
    notebook: Notebook, text: str, name: str
) -> None:
    notebook.must(
        "class Model:\n    __call__ = staticmethod(jax.nn.softmax)\n"
        "model = Model()\nrows = jnp.ones((4, 8))\nlength = jnp.linalg.norm(rows)"
    )
    notebook.must(f"%jaxjit -n 0 {text}")
    report = jaxscope.last()
    assert report.summary().startswith(name)
    (line,) = report.to_dataframe("lines").to_dict("records")
    assert line["text"] == text
    assert line["flops"] == report.cost.flops > 0


MODEL = """
@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Scale:
    weight: jax.Array

    def __call__(self, v):
        return v * self.weight


scale = Scale(jnp.arange(3.0))
"""


def test_the_arrays_of_a_model_that_is_called_are_inputs(notebook: Notebook) -> None:
    notebook.must("import dataclasses\n" + MODEL)
    ran = notebook.must("%jaxjit -q -n 1 scale(jnp.ones(3))")
    np.testing.assert_array_equal(ran.value, [0.0, 1.0, 2.0])
    report = jaxscope.last()
    (program,) = report.programs
    assert sorted(value.name for value in program.inputs) == ["self.weight", "v"]
    assert report.summary().startswith("jit(Scale)")
    # A new value of the weights is no new program.
    notebook.must("scale = Scale(jnp.ones(3))\n")
    np.testing.assert_array_equal(notebook.must("%jaxjit -q -n 1 scale(jnp.ones(3))").value, 1.0)
    assert "reused the compiled program" in jaxscope.last().summary()
    # Axes are of what is written.
    notebook.must("%jaxvmap -q -n 1 scale(jnp.ones((2, 3)))")
    assert jaxscope.last().summary().startswith("jit(vmap(Scale))")


@pytest.mark.parametrize("call", ["norm(rows)", "functools.partial(norm)(rows)"])
def test_the_state_of_an_nnx_model_that_is_called_is_updated(notebook: Notebook, call: str) -> None:
    pytest.importorskip("flax.nnx")
    notebook.must(
        "import functools\nfrom flax import nnx\nnorm = nnx.BatchNorm(3, rngs=nnx.Rngs(0))\n"
        "twin = nnx.BatchNorm(3, rngs=nnx.Rngs(0))\nrows = jnp.arange(6.0).reshape(2, 3)"
    )
    ran = notebook.must(f"%jaxjit -q {call}")
    np.testing.assert_allclose(ran.value, notebook.must("twin(rows)").value, rtol=1e-5)
    np.testing.assert_allclose(*notebook.must("norm.mean[...], twin.mean[...]").value, rtol=1e-6)


def test_a_part_of_a_result_is_taken_of_the_whole_call(notebook: Notebook) -> None:
    notebook.must("@jax.jit\ndef step(v):\n    return v + 1, {'loss': jnp.sin(v)}")
    ran = notebook.must("%jaxjit -q -n 1 step(x)[1]['loss'].T[:2]")
    np.testing.assert_allclose(ran.value, np.sin(np.arange(2.0)), rtol=1e-6)
    report = jaxscope.last()
    assert report.summary().startswith("jit(step)")
    assert {"add", "sin"} <= {equation.primitive for equation in report.equations}
    assert "tuple index out of range" in str(notebook.run("%jaxjit -q -n 1 step(x)[2]").error)
    assert "must be a scalar" not in str(notebook.run("%jaxgrad -q -n 1 step(x.sum())[0]").error)


def test_a_model_in_an_expression_is_an_input_and_is_updated(notebook: Notebook) -> None:
    nnx = pytest.importorskip("flax.nnx")
    notebook.must(
        "from flax import nnx\nnorm = nnx.BatchNorm(3, rngs=nnx.Rngs(0))\nrows = jnp.ones((4, 3))"
    )
    ran = notebook.must("%jaxjit -q -n 3 norm(rows + 1).sum() + 1")
    names = [value.name for value in jaxscope.last().inputs]
    assert names[0] == "rows"
    assert "norm.mean" in names
    expected = nnx.BatchNorm(3, rngs=nnx.Rngs(0))
    rows = np.ones((4, 3), np.float32)
    np.testing.assert_allclose(ran.value, expected(rows + 1).sum() + 1, atol=1e-6)
    mean = notebook.must("norm.mean[...]").value
    np.testing.assert_allclose(mean, expected.mean[...], rtol=1e-6)
