"""A fix, done by its words, ends the recompilation that it is given for."""

from __future__ import annotations

import collections
import dataclasses
import functools
import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxscope.capture.compiles.listener import Listener, collecting
from jaxscope.model import Cause
from tests.capture.compiles.cause_cases import ones

Calls = tuple[Callable[[], Any], Callable[[], Any]]


@dataclasses.dataclass(frozen=True)
class Fix:
    before: Callable[[], Calls]
    """Two calls of which the second compiles again."""
    words: str
    """A pattern of the fix."""
    after: Callable[[], Calls]
    """The two calls as the fix has them."""


def identity() -> Any:
    return jax.jit(lambda x: jax.tree.map(lambda leaf: leaf, x))


def one_function(*values: Any, **options: Any) -> Callable[[], Calls]:
    """Two calls of one new function, with these values."""

    def calls() -> Calls:
        f = identity()
        first, second = (functools.partial(f, value, **options) for value in values)
        return first, second

    return calls


def with_flag(one: Any, other: Any) -> Callable[[], Calls]:
    def calls() -> Calls:
        f = jax.jit(lambda x, flag: jnp.where(flag, x, 2 * x))
        return lambda: f(ones(3), one), lambda: f(ones(3), other)

    return calls


def optional(one: Any, other: Any) -> Callable[[], Calls]:
    def calls() -> Calls:
        f = jax.jit(lambda x, scale: x if scale is None else x * scale)
        return lambda: f(ones(3), one), lambda: f(ones(3), other)

    return calls


def static(one: Any, other: Any) -> Callable[[], Calls]:
    def calls() -> Calls:
        f = jax.jit(lambda x, act: act(x), static_argnames="act")
        return lambda: f(ones(3), act=one), lambda: f(ones(3), act=other)

    return calls


def partial() -> Any:
    return functools.partial(jax.nn.leaky_relu, negative_slope=0.1)


def state() -> Any:
    return collections.namedtuple("State", "w")


class State(collections.namedtuple("State", "w")):
    """Defined once."""


def layer(*, data: tuple[str, ...], meta: tuple[str, ...]) -> Any:
    @dataclasses.dataclass
    class Layer:
        w: Any
        rate: float

    return jax.tree_util.register_dataclass(Layer, data_fields=data, meta_fields=meta)


def layers(data: tuple[str, ...], meta: tuple[str, ...]) -> Callable[[], Calls]:
    def calls() -> Calls:
        kind = layer(data=data, meta=meta)
        f = jax.jit(lambda layer: layer.w * layer.rate)
        return lambda: f(kind(ones(3), 0.1)), lambda: f(kind(ones(3), 0.2))

    return calls


def closures() -> Calls:
    def make(lr: float) -> Any:
        def schedule(x: Any) -> Any:
            return x * lr

        def outer(x: Any) -> Any:
            return schedule(x) + 1

        return jax.jit(lambda x: outer(x))

    kept = make(0.1), make(0.2)
    return lambda: kept[0](ones(3)), lambda: kept[1](ones(3))


def created_inside() -> Calls:
    @jax.jit
    def f(x: Any, lr: Any) -> Any:
        def outer(x: Any) -> Any:
            return x * lr + 1

        return outer(x)

    return lambda: f(ones(3), 0.1), lambda: f(ones(3), 0.2)


IMAGES = ones(2, 3, 8, 8), ones(2, 8, 8, 3)
X = np.arange(10.0, dtype=np.float32)
PARTIAL = partial()
KEYS = {
    "new": lambda seed: jax.random.key(seed),
    "old": lambda seed: jax.random.PRNGKey(seed),
    "rbg": lambda seed: jax.random.key(seed, impl="rbg"),
    "threefry": lambda seed: jax.random.key(seed, impl="threefry2x32"),
}


def keys(one: str, other: str) -> Callable[[], Calls]:
    return one_function(KEYS[one](0), KEYS[other](1))


FIXES = {
    "an old key": lambda: Fix(
        keys("old", "new"), r"^Make every key with `jax.random.key\(seed\)`", keys("new", "new")
    ),
    "a key of another implementation": lambda: Fix(
        keys("new", "rbg"), r'impl="threefry2x32"', keys("threefry", "threefry")
    ),
    "a bool and an int": lambda: Fix(
        with_flag(True, 1), r"such as `int\(flag\)`", with_flag(int(True), 1)
    ),
    "a float and an int": lambda: Fix(
        with_flag(1, 2.5), r"such as `float\(flag\)`", with_flag(float(1), 2.5)
    ),
    "an int array and a float": lambda: Fix(
        one_function(np.arange(3), ones(3)),
        r"`jnp.asarray\(value, jnp.float32\)`",
        one_function(*[jnp.asarray(v, jnp.float32) for v in (np.arange(3), ones(3))]),
    ),
    "a column and a vector": lambda: Fix(
        one_function(ones(4), ones(4, 1)),
        r"as `x.reshape\(4\)`",
        one_function(ones(4), ones(4, 1).reshape(4)),
    ),
    "axes in another order": lambda: Fix(
        one_function(*IMAGES),
        r"`jnp.transpose\(x, \(0, 3, 1, 2\)\)`",
        one_function(IMAGES[0], np.transpose(IMAGES[1], (0, 3, 1, 2))),
    ),
    "a mask": lambda: Fix(
        lambda: (lambda: jnp.asarray(X)[X > 3], lambda: jnp.asarray(X)[X > 5]),
        r"`jnp.where\(mask, x, 0\)` for `x\[mask\]`",
        lambda: (lambda: jnp.where(X > 3, X, 0), lambda: jnp.where(X > 5, X, 0)),
    ),
    "a range": lambda: Fix(
        lambda: (lambda: jnp.arange(40), lambda: jnp.arange(50)),
        r"or use NumPy for this line",
        lambda: (lambda: np.arange(40), lambda: np.arange(50)),
    ),
    "a partial as a static argument": lambda: Fix(
        static(partial(), partial()),
        r"^Create the object once, and pass the same one in every call\.$",
        static(PARTIAL, PARTIAL),
    ),
    "None and a number": lambda: Fix(
        optional(None, 2.0), r"in place of `None`, .* ones", optional(1.0, 2.0)
    ),
    "a class made again": lambda: Fix(
        one_function(state()(ones(3)), state()(ones(3))),
        r"^Define the class `State` once",
        one_function(State(ones(3)), State(ones(3))),
    ),
    "a static field": lambda: Fix(
        layers(("w",), ("rate",)),
        r"^Make `layer.rate` a data field",
        layers(("w", "rate"), ()),
    ),
    "a value two closures deep": lambda: Fix(
        closures, r"^Create `outer` inside the jitted function", created_inside
    ),
}


def causes(calls: Calls) -> list[Cause]:
    """Of what the second call compiled."""
    first, second = calls
    with Listener() as listener, collecting(listener) as run:
        first()
        before = sum(raw.compiled for raw in run.raw)
        second()
    return [cause for made in run.compiles()[before:] for cause in made.causes]


@pytest.mark.parametrize("name", FIXES)
def test_a_fix_that_is_done_ends_the_recompilation(name: str) -> None:
    fix = FIXES[name]()
    given = [cause.fix for cause in causes(fix.before())]
    assert any(re.search(fix.words, text) for text in given), given
    assert causes(fix.after()) == []
