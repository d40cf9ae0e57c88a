"""Fixes for JAX's errors, by their type and text."""

from __future__ import annotations

import pytest

from jaxscope.capture.run.jax_errors import fix

ABSTRACT = (
    "Error interpreting argument to <function f at 0x7f> as an abstract array. The problematic "
    "value is of type <class '{}'> and was passed to the function at path {}."
)
SHAPES = "Shapes must be 1D sequences of concrete values of integer type, got {}."
DEVICES = "Received incompatible devices for jitted computation."


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (TypeError("Value 'a' is not a valid JAX type"), "arrays"),
        (TypeError(ABSTRACT.format("str", "x")), "arrays"),
        (TypeError(ABSTRACT.format("function", "g")), "make it static"),
        (TypeError(ABSTRACT.format("function", "net.layers[0].act")), "eqx.filter_jit"),
        (TypeError(ABSTRACT.format("jaxlib._jax.PjitFunction", "net[0]")), "eqx.filter_jit"),
        (ValueError("vmap in_axes must be an int"), "-i name=axis"),
        (TypeError("vmap IN_AXES must be an int"), "-i name=axis"),
        (RuntimeError("vmap in_axes must be an int"), None),
        (ValueError(f"{DEVICES} Got jit's context mesh and device_put inside jit"), "without the"),
        (ValueError(f"{DEVICES} Got argument x of f and argument y of f"), "jax.device_put"),
        (TypeError(SHAPES.format("(2.0,)")), "divide with `//`"),
        (TypeError(SHAPES.format("(JitTracer(~int32[]),)")), "known ints while tracing"),
        (TypeError("an error of the user's"), None),
        (ValueError("an error of the user's"), None),
        (KeyError("x"), None),
    ],
)
def test_an_error_has_a_fix_where_its_type_and_text_are_known(
    error: Exception, words: str | None
) -> None:
    found = fix(error, {}, pmap=False)
    assert found is None if words is None else found is not None and words in found
