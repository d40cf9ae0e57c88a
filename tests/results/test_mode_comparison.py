"""`jaxscope.compare_modes`: which mode of differentiation fits a shape."""

import jax
import jax.numpy as jnp
import pytest

import jaxscope
from jaxscope.model import DerivativeModes, from_json

W = jnp.ones((3, 50))


def wide(x, w):
    return jnp.tanh(w @ x)


@pytest.fixture(scope="module")
def compared():
    return jaxscope.compare_modes(wide, jnp.ones(50), W)


def test_few_outputs_fit_reverse_mode(compared):
    assert compared.fits == "reverse"
    assert (compared.data.inputs, compared.data.outputs) == (50, 3)
    assert (compared.forward.products, compared.reverse.products) == (50, 3)
    assert compared.forward.flops > 5 * compared.reverse.flops
    assert compared.forward.seconds is None


def test_few_inputs_fit_forward_mode():
    found = jaxscope.compare_modes(lambda x: jnp.sin(x * jnp.arange(40.0)), 2.0)
    assert found.fits == "forward"
    assert (found.forward.products, found.reverse.products) == (1, 40)


def test_nothing_is_compiled_unless_it_is_timed():
    x = jnp.ones(50)  # compiles itself, where no earlier test made ones of this shape
    with jaxscope.watch() as log:
        jaxscope.compare_modes(wide, x, W, order=2)
    assert [c.fun_name for c in log.compiles if c.compile_s] == []


def test_both_modes_are_timed_on_request():
    with jaxscope.options(runs=2):
        found = jaxscope.compare_modes(wide, jnp.ones(50), W, time=True)
    assert found.forward.seconds > 0
    assert found.reverse.seconds > 0
    faster = "forward" if found.forward.seconds <= found.reverse.seconds else "reverse"
    assert found.fits == faster
    assert "per call" in found.summary()


def test_the_program_grows_with_the_order():
    orders = jaxscope.compare_modes(lambda x: x**4 + 2**x, 1.0, order=3).orders
    assert [o.order for o in orders] == [0, 1, 2, 3]
    assert [o.by for o in orders] == ["", "grad", "grad", "grad"]
    assert [o.equations for o in orders] == sorted({o.equations for o in orders})
    mixed = jaxscope.compare_modes(lambda x: jnp.sum(x**3), jnp.ones(4), order=2).orders
    assert [o.by for o in mixed] == ["", "grad", "jacfwd"]
    assert jaxscope.compare_modes(wide, jnp.ones(5), W[:, :5], order=1).orders[1].by == "jacrev"


def test_arguments_that_are_no_arrays_stay_as_they_are():
    def function(x, n, name, *, scale):
        return {"sum": jnp.sum(x**n) * scale}[name]

    found = jaxscope.compare_modes(function, jnp.ones(4), 3, "sum", scale=2.0)
    assert (found.data.inputs, found.data.outputs) == (4, 1)
    second = jaxscope.compare_modes(wide, jnp.ones(50), W, argnums=1)
    assert second.data.inputs == 150
    both = jaxscope.compare_modes(wide, jnp.ones(50), W, argnums=(0, 1))
    assert both.data.inputs == 200
    shapes = jaxscope.compare_modes(wide, jax.ShapeDtypeStruct((50,), jnp.float32), W)
    assert shapes.reverse.products == 3


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: jaxscope.compare_modes(wide, 3, W), "Argument 0 holds int32 values"),
        (
            lambda: jaxscope.compare_modes(wide, jnp.ones(50), W, argnums=2),
            "argnums names argument 2",
        ),
        (lambda: jaxscope.compare_modes(wide, jnp.ones(50), W, order=-1), "order is -1"),
    ],
)
def test_bad_input_raises_a_clear_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


def test_the_errors_of_the_function_are_its_own():
    with pytest.raises(TypeError, match=r"dot_general|matmul"):
        jaxscope.compare_modes(wide, jnp.ones(7), W)


def test_it_is_shown_as_text_html_data_and_a_table(compared):
    assert compared.to_text().startswith(
        "Reverse mode fits (50 input numbers, 3 output numbers): 3 VJPs, "
    )
    assert repr(compared) == f"<jaxscope.ModeComparison: {compared.summary()}>"
    assert max(map(len, compared.to_text(width=60).splitlines())) <= 60
    assert "<table>" in compared.static_html()
    assert "<h4>By order</h4>" in jaxscope.compare_modes(jnp.sin, 1.0, order=1).static_html()
    assert set(compared._repr_mimebundle_()) == {"text/plain", "text/html"}
    assert list(compared.to_dataframe()["mode"]) == ["forward", "reverse"]
    assert from_json(DerivativeModes, compared.to_json()) == compared.data
