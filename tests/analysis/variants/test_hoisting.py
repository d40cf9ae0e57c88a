"""A function that a loop creates again and again, created once: the edit of the text."""

from __future__ import annotations

import pytest

from jaxscope.analysis.variants.hoisting import Hoisted, hoisted

DEFINED = """for k in ks:
    def g(x, s=2):
        return x + k
    h = jax.jit(g)
    y = h(x, s=3)"""
CALLED = "for k in ks:\n    y = h(x, s=3, k=k)"


@pytest.mark.parametrize(
    ("text", "lines", "name", "made"),
    [
        (
            "%%jaxwatch\nfor k in ks:\n    y = jax.jit(lambda x: x * k)(x)",
            [3],
            "<lambda>",
            "%%jaxwatch\njitted = jax.jit(lambda x, k: x * k)\nfor k in ks:\n    y = jitted(x, k)",
        ),
        (
            "for k in ks:\n    @jax.jit\n    def f(x):\n        return x * k\n\n    y = f(x)",
            [2],
            "f",
            "@jax.jit\ndef f(x, k):\n    return x * k\n\nfor k in ks:\n    y = f(x, k)",
        ),
        (
            "for i in n:\n    g = jax.jit(jax.grad(loss))\n    y = g(w,\n          x)\n    q = 1",
            [2],
            "loss",
            "g = jax.jit(jax.grad(loss))\nfor i in n:\n    y = g(w, x)\n    q = 1",
        ),
        (
            "for k in ks:\n    y = jax.jit(functools.partial(f, k))(x)",
            [2],
            "f",
            "jitted = jax.jit(f)\nfor k in ks:\n    y = jitted(k, x)",
        ),
        (
            DEFINED,
            [2, 4],
            "g",
            "def g(x, s=2, *, k):\n    return x + k\n\nh = jax.jit(g)\n\n" + CALLED,
        ),
    ],
)
def test_a_creation_moves_before_the_loop(
    text: str, lines: list[int], name: str, made: str
) -> None:
    found = hoisted(text, lines, name)
    assert isinstance(found, Hoisted), found
    assert found.text == made


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("f = jax.jit(lambda x: x)", "creates no jitted function in a loop"),
        ("class A:\n    def f(self):\n        return jax.jit(lambda x: x)(1)", "in a method"),
        ("for k in ks:\n    fs.append(jax.jit(lambda x: x * k))", "passed on, not called"),
        ("for k in ks:\n    f = jax.jit(lambda x: x * k)\n    fs.append(f)", "otherwise than in"),
        ("for m in ms:\n    y = jax.jit(m.apply)(x)", "is created from `m`"),
        ("for k in ks:\n    y = jax.jit(lambda *x: x[0] * k)(x)", "`*` arguments"),
        ("for k in ks:\n    y = jax.jit(lambda x: x * k)(*xs)", "`*` arguments"),
    ],
)
def test_a_creation_that_cannot_move(text: str, said: str) -> None:
    found = hoisted(text, [1, 2, 3], "<lambda>")
    assert isinstance(found, str)
    assert said in found
