"""Arguments of a call in short."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxscope.capture.signature import describe, describe_call


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.ones((4, 8), np.float32), "f32[4,8]"),
        (np.ones(2, np.complex64), "c64[2]"),
        (np.zeros(3, np.uint8), "u8[3]"),
        (np.zeros(3, bool), "bool[3]"),
        (jnp.zeros((), jnp.bfloat16), "bf16[]"),
        (jax.random.key(0), "key<fry>[]"),
        (jax.ShapeDtypeStruct((2,), jnp.int32), "i32[2]"),
        (1.5, "float"),
        (True, "bool"),
        (3, "int"),
        (None, "None"),
        ("text", "str"),
        ({"a": np.ones(2, np.float32), "b": [np.ones(3, np.float32)]}, "2 leaves, 20 B"),
        ([], "0 leaves, 0 B"),
        ((np.ones(300, np.float32),), "1 leaf, 1.2 kB"),
    ],
)
def test_a_value_in_short(value, text):
    assert describe(value) == text


def test_names_are_those_of_the_function():
    def f(a, b=2, *rest, c, **more):
        raise NotImplementedError

    texts = describe_call(f, (1.0, 2, 3, 4), {"c": 5, "z": 6.0}, (1,), ("c",))
    assert texts == ("a: float", "b=2", "rest[0]: int", "rest[1]: int", "c=5", "z: float")


def test_a_static_argument_counted_from_the_end():
    assert describe_call(lambda x, n: x, (1.0, "abc"), {}, (-1,)) == ("x: float", "n='abc'")


def test_what_has_no_names_is_numbered():
    assert describe_call(None, (1.0,), {}) == ("arg0: float",)
    assert describe_call(functools.partial(lambda a, b: a, 1), (2.0,), {}) == ("b: float",)


def test_a_broken_or_long_repr_does_no_harm():
    class Broken:
        def __repr__(self):
            raise RuntimeError("mine")

    (text,) = describe_call(lambda x: x, (Broken(),), {}, (0,))
    assert text.startswith("x=<")
    (text,) = describe_call(lambda x: x, ("a" * 500,), {}, (0,))
    assert len(text) == len("x=") + 60
    assert text.endswith("…")
