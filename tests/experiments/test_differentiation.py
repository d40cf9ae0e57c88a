"""The experiments people make with derivatives, each in a cell: values and reports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell

import jaxscope
from jaxscope.model import Cost
from jaxscope.results.report import Report


class Cells:
    """A shell with jaxscope in it."""

    def __init__(self, shell: InteractiveShell) -> None:
        self.shell = shell
        self.names: dict[str, Any] = shell.user_ns

    def run(self, text: str) -> Any:
        done = self.shell.run_cell(text, store_history=True)
        done.raise_error()
        return done.result

    @property
    def report(self) -> Report:
        return jaxscope.last()


@pytest.fixture
def cells(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Iterator[Cells]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    shell.history_manager.enabled = False
    made = Cells(shell)
    made.run("%load_ext jaxscope\nimport jax, jax.numpy as jnp")
    try:
        yield made
    finally:
        jaxscope.unload_ipython_extension(shell)
        shell.history_manager.end_session()
        InteractiveShell.clear_instance()


def test_the_slope_of_a_polynomial(cells: Cells) -> None:
    cells.run("x = 1.0")
    slope = cells.run("%%jaxgrad -q -n 1 -w x\nx**3 + 2 * x**2 - 3 * x + 8")
    assert float(slope) == pytest.approx(4.0)


def test_nested_gradients_to_the_third_order_and_how_the_program_grows(cells: Cells) -> None:
    cells.run("x, y = 1.0, 2.0")
    found, sizes = [], []
    for order in (1, 2, 3):
        found.append(float(cells.run(f"%%jaxgrad -q -n 1 -w x --order {order}\nx**4 + 2.0**y + 3")))
        sizes.append(len(cells.report.equations))
        assert cells.report.programs[0].transforms == ("jit", *["grad"] * order)
    assert found == pytest.approx([4.0, 12.0, 24.0])
    assert sizes == sorted(set(sizes)), "each order adds equations"


def test_the_second_argument_and_both(cells: Cells) -> None:
    cells.run("x, y = 1.0, 2.0")
    body = "x**4 + 2.0**y + 3"
    assert float(cells.run(f"%%jaxgrad -q -n 1 -w y\n{body}")) == pytest.approx(2.7726, abs=1e-4)
    both = cells.run(f"%%jaxgrad -q -n 1 -w x,y\n{body}")
    assert {name: float(value) for name, value in both.items()} == pytest.approx(
        {"x": 4.0, "y": 2.7726}, abs=1e-4
    )


def test_the_value_and_what_is_passed_along(cells: Cells) -> None:
    cells.run("x = 2.0")
    (value, kept), slope = cells.run(
        "%%jaxgrad -q -n 1 -w x --value --has-aux\ncube = x**3\ncube + x, {'cube': cube}"
    )
    assert (float(value), float(kept["cube"]), float(slope)) == (10.0, 8.0, 13.0)
    assert float(cells.names["cube"]) == 8.0


def test_along_a_direction_and_back(cells: Cells) -> None:
    cells.run(
        "x = jnp.array([1.0, 2.0]); v = jnp.array([1.0, 0.0]); c = jnp.array([0.0, 1.0, 0.0])"
    )
    body = "jnp.array([x[0] * x[1], x[0] ** 2, jnp.sin(x[1])])"
    forward = cells.run(f"%%jaxgrad -q -n 1 -w x --mode jvp --tangents v\n{body}")
    np.testing.assert_allclose(forward, [2.0, 2.0, 0.0], atol=1e-6)
    back = cells.run(f"%%jaxgrad -q -n 1 -w x --mode vjp --cotangent c\n{body}")
    np.testing.assert_allclose(back, [2.0, 0.0], atol=1e-6)


@pytest.mark.parametrize(("inputs", "outputs", "cheaper"), [(2, 64, "jacfwd"), (64, 2, "jacrev")])
def test_the_mode_that_fits_the_shape_does_less_work(
    cells: Cells, inputs: int, outputs: int, cheaper: str
) -> None:
    rng = np.random.default_rng(0)
    cells.names["m"] = jnp.asarray(rng.normal(size=(outputs, inputs)), "float32")
    cells.names["x"] = jnp.asarray(rng.normal(size=inputs), "float32")
    work, found = {}, {}
    for mode in ("jacfwd", "jacrev"):
        found[mode] = cells.run(f"%%jaxgrad -q -n 1 -w x --mode {mode}\njnp.tanh(m @ jnp.sin(x))")
        cost = cells.report.cost
        assert isinstance(cost, Cost)
        work[mode] = cost.flops
    np.testing.assert_allclose(found["jacfwd"], found["jacrev"], rtol=1e-4, atol=1e-5)
    assert found["jacfwd"].shape == (outputs, inputs)
    assert min(work, key=lambda mode: work[mode]) == cheaper


def test_a_hessian(cells: Cells) -> None:
    cells.run("x = jnp.array([1.0, 2.0])")
    hessian = cells.run("%%jaxgrad -q -n 1 -w x --mode hessian\nx[0] ** 2 * x[1]")
    np.testing.assert_allclose(hessian, [[4.0, 2.0], [2.0, 0.0]], atol=1e-6)


# Without LLVM's optimizer, the gradient of the complex matrix is NaN.
@pytest.mark.parametrize("kind", ["real", pytest.param("complex", marks=pytest.mark.optimizer)])
def test_the_gradient_of_a_spectral_radius(cells: Cells, kind: str) -> None:
    rng = np.random.default_rng(1)
    matrix = rng.normal(size=(3, 3))
    if kind == "complex":
        matrix = matrix + 1j * rng.normal(size=(3, 3))
    cells.names["a"] = matrix
    gradient = np.asarray(
        cells.run("%%jaxgrad -q -n 1 --x64 -w a\njnp.abs(jnp.linalg.eigvals(a)).max()")
    )

    def radius(m: np.ndarray) -> float:
        return float(np.abs(np.linalg.eigvals(m)).max())

    step = 1e-6
    by_real, by_imaginary = np.zeros((3, 3)), np.zeros((3, 3))
    for place in np.ndindex(3, 3):
        one = np.zeros((3, 3))
        one[place] = step
        by_real[place] = (radius(matrix + one) - radius(matrix - one)) / (2 * step)
        by_imaginary[place] = (radius(matrix + 1j * one) - radius(matrix - 1j * one)) / (2 * step)
    # PyTorch gives the slope by the real part plus i times that by the imaginary part.
    of_pytorch = by_real + 1j * by_imaginary
    notes = " ".join(cells.report.record.notes)
    if kind == "complex":
        np.testing.assert_allclose(gradient, of_pytorch.conj(), rtol=1e-5, atol=1e-7)
        assert "`a` follows JAX's convention, the conjugate of PyTorch's" in notes
    else:
        np.testing.assert_allclose(gradient, by_real, rtol=1e-5, atol=1e-7)
        assert "PyTorch" not in notes


@pytest.mark.parametrize(("option", "digits"), [("", "1.41421354"), ("--x64", "1.41421356")])
def test_the_root_of_two_in_both_precisions(cells: Cells, option: str, digits: str) -> None:
    cells.run("x = 2.0")
    cells.run(f"%%jaxgrad -q -n 1 {option} -w x -o r\nroot = jnp.sqrt(x)")
    assert f"{float(cells.names['root']):.8f}" == digits
    assert cells.report.outputs[0].aval.startswith("float64" if option else "float32")


def test_gradients_of_each_example(cells: Cells) -> None:
    rng = np.random.default_rng(2)
    for name, shape in (("w", (3,)), ("x", (8, 3)), ("y", (8,))):
        cells.names[name] = jnp.asarray(rng.normal(size=shape), "float32")
    each = cells.run(
        "%%jaxcompose -q -n 1 jit | vmap -i x=0,y=0 | grad -w w\njnp.tanh(x @ w - y) ** 2"
    )
    w, x, y = (cells.names[name] for name in "wxy")
    one = jax.grad(lambda w, x, y: jnp.tanh(x @ w - y) ** 2)
    expected = jnp.stack([one(w, x[i], y[i]) for i in range(8)])
    np.testing.assert_allclose(each, expected, rtol=1e-4, atol=1e-5)
    assert len(cells.report.compiles) == 1


def test_a_matrix_product_built_from_dot_products(cells: Cells) -> None:
    rng = np.random.default_rng(3)
    cells.names["a"] = jnp.asarray(rng.normal(size=(5, 4)), "float32")
    cells.names["b"] = jnp.asarray(rng.normal(size=(4, 6)), "float32")
    product = cells.run("%%jaxcompose -q -n 1 vmap -i a=0 | vmap -i b=1\njnp.vdot(a, b)")
    np.testing.assert_allclose(product, cells.names["a"] @ cells.names["b"], rtol=1e-5)
    products = [e for e in cells.report.equations if e.primitive == "dot_general"]
    assert [e.outputs for e in products] == [("f32[5,6]",)]
