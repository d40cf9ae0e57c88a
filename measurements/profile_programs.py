"""Programs with a known time by line: each line can be run alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from jaxscope.model import Phase


def normal(seed: int, *shape: int) -> Any:
    return jax.random.normal(jax.random.key(seed), shape) * (shape[-1] ** -0.5)


def products(x, w1, w2, w3):
    h1 = x @ w1
    h2 = h1 @ w2
    return h2 @ w3


def sort_and_reduce(x):
    s = jnp.sort(x)
    m = jnp.mean(s[: x.size // 2] * s[x.size // 2 :])
    return m + jnp.var(s)


def chain(x):
    a = x * 2.0 + 1.0
    b = jnp.sin(a)
    c = jnp.exp(b)
    d = c * c - b
    return jnp.tanh(d)


def loss(w1, w2, w3, x):
    h1 = jnp.tanh(x @ w1)
    h2 = jnp.tanh(h1 @ w2)
    y = h2 @ w3
    return jnp.mean(y**2)


Key = tuple[int, str]
"""Offset of a line in its function, and its direction: empty without differentiation."""


@dataclass(frozen=True)
class Case:
    """A program, and each of its lines alone."""

    name: str
    call: Callable[..., Any]
    args: tuple[Any, ...]
    first: int
    alone: dict[Key, Callable[[], Any]]
    most: float
    """Points by which the worst line may be wrong."""
    isolate_lines: bool = False
    judged: tuple[Key, ...] = ()
    """The lines that count; empty for all."""
    mean: float | None = None
    """Points by which the lines may be wrong on average."""
    ordered: bool = False
    """The order of the lines must be right: they differ by far."""
    inferred: float = 0.06
    """Share of the time that may be inferred."""


def first_line(function: Callable[..., Any]) -> int:
    return function.__code__.co_firstlineno


def plain(calls: dict[int, Callable[[], Any]]) -> dict[Key, Callable[[], Any]]:
    return {(line, ""): call for line, call in calls.items()}


def gradient_case() -> Case:
    """Each line of three layers, forward and backward, with its inputs given."""
    w1, w2, w3 = normal(1, 512, 512), normal(2, 512, 1024), normal(3, 1024, 256)
    x = normal(4, 256, 512)
    layer = [jax.jit(lambda x, w: jnp.tanh(x @ w)) for _ in range(2)]
    product, mean = jax.jit(jnp.matmul), jax.jit(lambda y: jnp.mean(y**2))
    down = jax.jit(lambda y: 2.0 * y / y.size)
    back3 = jax.jit(lambda h, w, d: (h.T @ d, d @ w.T))

    def through(x, w, h, d):
        u = d * (1.0 - h * h)
        return x.T @ u, u @ w.T

    back2 = jax.jit(through)
    back1 = jax.jit(lambda x, h, d: x.T @ (d * (1.0 - h * h)))
    h1 = layer[0](x, w1)
    h2 = layer[1](h1, w2)
    y = product(h2, w3)
    dy = down(y)
    d2 = back3(h2, w3, dy)[1]
    d1 = back2(h1, w2, h2, d2)[1]
    forward, backward = str(Phase.FORWARD), str(Phase.BACKWARD)
    alone: dict[Key, Callable[[], Any]] = {
        (1, forward): lambda: layer[0](x, w1),
        (2, forward): lambda: layer[1](h1, w2),
        (3, forward): lambda: product(h2, w3),
        (4, forward): lambda: mean(y),
        (4, backward): lambda: down(y),
        (3, backward): lambda: back3(h2, w3, dy),
        (2, backward): lambda: back2(h1, w2, h2, d2),
        (1, backward): lambda: back1(x, h1, d1),
    }
    call = jax.jit(jax.value_and_grad(loss, (0, 1, 2)))
    # XLA gives three of its products the tag of the transpose that it merges into them.
    inferred = 0.3
    args = (w1, w2, w3, x)
    return Case("gradient", call, args, first_line(loss), alone, 10.0, mean=4.0, inferred=inferred)


def cases() -> list[Case]:
    x = normal(0, 512, 512)
    w1, w2, w3 = normal(1, 512, 512), normal(2, 512, 1024), normal(3, 1024, 1024)
    first, second, third = jax.jit(jnp.matmul), jax.jit(jnp.matmul), jax.jit(jnp.matmul)
    h1 = first(x, w1)
    h2 = second(h1, w2)
    big = jax.random.normal(jax.random.key(5), (1 << 17,))
    ordered = jnp.sort(big)
    sort = jax.jit(jnp.sort)
    mean = jax.jit(lambda s: jnp.mean(s[: 1 << 16] * s[1 << 16 :]))
    var = jax.jit(jnp.var)
    long = jax.random.normal(jax.random.key(6), (1 << 20,))
    steps = [
        jax.jit(f)
        for f in (
            lambda x: x * 2.0 + 1.0,
            jnp.sin,
            jnp.exp,
            lambda c, b: c * c - b,
            jnp.tanh,
        )
    ]
    a = steps[0](long)
    b = steps[1](a)
    c = steps[2](b)
    d = steps[3](c, b)
    lines = {
        1: lambda: steps[0](long),
        2: lambda: steps[1](a),
        3: lambda: steps[2](b),
        4: lambda: steps[3](c, b),
        5: lambda: steps[4](d),
    }
    return [
        Case(
            "products",
            products,
            (x, w1, w2, w3),
            first_line(products),
            plain(
                {
                    1: lambda: first(x, w1),
                    2: lambda: second(h1, w2),
                    3: lambda: third(h2, w3),
                }
            ),
            6.0,
            ordered=True,
        ),
        Case(
            "sort",
            sort_and_reduce,
            (big,),
            first_line(sort_and_reduce),
            plain({1: lambda: sort(big), 2: lambda: mean(ordered), 3: lambda: var(ordered)}),
            5.0,
            judged=((1, ""),),
        ),
        Case("chain", chain, (long,), first_line(chain), plain(lines), 12.0, isolate_lines=True),
        gradient_case(),
    ]
