"""Values as a short text and a token, without reading too much of them."""

from __future__ import annotations

import dataclasses
import enum

import jax.numpy as jnp
import numpy as np
import pytest

from jaxscope.capture.compiles.signature.description import describe
from jaxscope.capture.compiles.signature.values import ObjectIds, code_text


class Color(enum.Enum):
    RED = 1


@dataclasses.dataclass
class Config:
    depth: int = 2
    name: str = "a"


class Plain:
    """Compares by identity."""


def text(value):
    return describe(value, ObjectIds())[0]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.1, "0.1"),
        ("a", "'a'"),
        (None, "None"),
        (Color.RED, "Color.RED"),
        (np.ones((2, 3), np.float32), "f32[2,3]"),
        (jnp.ones(3, jnp.bfloat16), "bf16[3]"),
        (np.float32, "float32"),
        (np.int64(2), "np.int64(2)"),
        (np.dtype("int32"), "int32"),
        (Config(3), "Config(depth=3, name='a')"),
        ((1, [2.0, "x"]), "(1, [2.0, 'x'])"),
        ((1,), "(1,)"),
        ({"a": 1}, "{'a': 1}"),
        (np, "numpy"),
        (len, "len object 1"),
        (text, "text"),
        (Plain(), "Plain object 1"),
        ("a" * 100, "'" + "a" * 58 + "…"),
    ],
)
def test_a_value_in_a_few_words(value, shown):
    if value is len:  # a built-in has no code
        assert text(value).startswith(("len object", "builtin_function_or_method", "<built-in"))
        return
    assert text(value) == shown


class Named:
    """Equal to all others, and told apart by its `repr` alone."""

    def __init__(self, name):
        self.name = name

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 1

    def __repr__(self):
        return self.name


def test_a_long_repr_is_compared_by_its_first_200_characters():
    def token(name):
        return describe(Named(name), ObjectIds())[1]

    assert token("a" * 199 + "b") != token("a" * 199 + "c")
    assert token("a" * 200 + "b") == token("a" * 200 + "c")


def test_equal_values_have_equal_tokens():
    ids = ObjectIds()

    def token(value):
        return describe(value, ids)[1]

    assert token(Config(3)) == token(Config(3)) != token(Config(4))
    assert token([1, 2]) == token([1, 2]) != token([1, 3])
    assert token({1, 2}) == token({2, 1})
    one, other = np.ones(3), np.ones(3)
    assert token(one) == token(one) != token(other)


def test_a_large_value_is_looked_at_in_part_only():
    looked = 0

    class Counting(tuple):
        def __iter__(self):
            nonlocal looked
            for item in super().__iter__():
                looked += 1
                yield item

    value = Counting(range(50))
    for _ in range(3):
        value = Counting([value] * 50)
    assert text(value).startswith("Counting(Counting(")
    assert looked <= 3000


def test_attributes_that_raise_do_no_harm():
    class Broken:
        @property
        def shape(self):
            raise RuntimeError("mine")

    assert text(Broken()) == "Broken object"


def test_code_reads_the_same_wherever_it_stands():
    spaces = [{}, {}, {}]
    sources = ("def f(x):\n    return sin(x)", "\n\ndef f(x):\n    return sin(x)")
    for space, source in zip(spaces, (*sources, "def f(x):\n    return cos(x)"), strict=True):
        exec(compile(source, f"file {id(space)}", "exec"), space)
    first, moved, other = (code_text(space["f"].__code__) for space in spaces)
    assert first == moved != other
