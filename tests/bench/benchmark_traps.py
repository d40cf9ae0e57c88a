"""Pairs of implementations of which one deceives, and pairs of which none does.

A trap names what must be reported: a code, `not compared` or another text of the first line, or
the beginning of a failure.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.side_by_side import normal

X = normal(64)


def mean(x):
    return (x * 2).mean()


def smooth(x):
    return np.tanh(x) * x


def smooth_jax(x):
    return jnp.tanh(x) * x


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    function: Callable[..., Any]
    said: str = ""
    """A code, or a part of the first line."""
    _: dataclasses.KW_ONLY
    implementation: str = "numpy"
    honest: Callable[..., Any] = smooth
    inputs: dict[str, Any] = dataclasses.field(default_factory=lambda: {"x": X})
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)


def by_identity(function=smooth):
    memo: dict[int, Any] = {}

    def remembered(x):
        if id(x) not in memo:
            memo[id(x)] = x, function(x)
        return memo[id(x)][1]

    return remembered


def by_key(key, function=smooth):
    memo: dict[Any, Any] = {}

    def remembered(x):
        found = key(x)
        if found not in memo:
            memo[found] = function(x)
        return memo[found]

    return remembered


def once(function):
    kept: list[Any] = []

    def first_only(x):
        if not kept:
            kept.append(function(x))
        return kept[0]

    return first_only


class Model:
    @functools.cached_property
    def answer(self):
        return smooth(X)

    def __call__(self, x):
        return self.answer


class Stale:
    """Recomputes for another shape only, into a copy each time."""

    def __init__(self):
        self.shape, self.result = None, None

    def __call__(self, x):
        if self.shape != x.shape:
            self.shape, self.result = x.shape, smooth(x)
        return self.result.copy()


def viewed(function):
    return lambda x: function(x)[:]


def done(value):
    future: Future[Any] = Future()
    future.set_result(value)
    return future


async def later(x):
    return smooth(x)


def asynchronous(x):
    made = later(x)
    made.close()  # or Python would complain that nothing awaits it
    return made


def counted(limit):
    calls = itertools.count(1)

    def worn(x):
        if next(calls) >= limit:
            raise RuntimeError("worn out")
        return smooth(x)

    return worn


def fresh_jit(x):
    return jax.jit(lambda y: jnp.tanh(y) * y)(x)


def random_result(x):
    return smooth(x) + np.random.default_rng().normal(size=x.shape).astype(np.float32)


def in_place(x):
    x *= np.tanh(x)
    return x


def printing(x):
    print("step")
    return smooth(x)


ONES = np.ones(64)
KNOWN = smooth(X)
SUM = float(mean(X))
POSITIVE = normal(6, 6) @ normal(6, 6).T + 6 * np.eye(6, dtype=np.float32)
Y = normal(64, seed=1)
BIG = np.ones(1 << 15, np.float32)

TRAPS = (
    # A result of the call before.
    Case("memo by identity", by_identity(), "J204"),
    Case("memo by identity, a number", by_identity(mean), "J204", honest=mean),
    Case("memo by identity, a tuple", by_identity(lambda x: (smooth(x), x + 1)), "J204",
         honest=lambda x: (smooth(x), x + 1)),
    Case("memo by bytes", by_key(lambda x: x.tobytes()), "J204"),
    Case("memo by sum", by_key(lambda x: float(x.sum())), "J204"),
    Case("memo by first element", by_key(lambda x: float(x[0])), "J205"),
    Case("memo by shape", by_key(lambda x: x.shape), "J205"),
    Case("memo by type", by_key(type), "J205"),
    Case("memo of JAX arrays", by_identity(smooth_jax), "J204", implementation="jax-eager"),
    Case("memo of a jitted function", by_identity(jax.jit(smooth_jax)), "J204",
         implementation="jax-eager"),
    Case("a view of the memo", viewed(by_identity()), "J204"),
    Case("only the first call computes", once(smooth), "J205"),
    Case("only the first call computes, JAX", once(smooth_jax), "J205",
         implementation="jax-eager"),
    Case("a cached property", Model(), "J205"),
    Case("copies of an old result", Stale(), "J205"),
    # An answer from outside.
    Case("a known array", lambda x: KNOWN, "J205"),
    Case("a copy of a known array", lambda x: KNOWN.copy(), "J205"),
    Case("a known number", lambda x: SUM, "J205", honest=mean),
    Case("a known number, wrapped", lambda x: np.float32(SUM), "J205", honest=mean),
    Case("a known array, jitted", lambda x: jnp.asarray(KNOWN), "J205", implementation="jax"),
    Case("a known array, eager", lambda x: jnp.asarray(KNOWN), "J205",
         implementation="jax-eager"),
    Case("a known answer as the baseline", smooth, "J205", honest=lambda x: KNOWN),
    Case("a known index", lambda x: int(np.argmax(X)), "J205", honest=np.argmax),
    Case("the answer ignores one of two inputs", lambda x, y: x + Y, "J205",
         honest=lambda x, y: x + y, inputs={"x": X, "y": normal(64, seed=1)}),
    Case("the answer ignores one of two equal inputs", lambda x, y: x + ONES, "J205",
         honest=lambda x, y: x + y, inputs={"x": np.ones(64), "y": np.ones(64)}),
    # A result that is not there yet.
    Case("map", lambda x: map(smooth, [x]), "J206"),
    Case("zip", lambda x: zip(x, x, strict=True), "J206", honest=lambda x: np.stack([x, x], 1)),
    Case("filter", lambda x: filter(None, x), "J206", honest=lambda x: x[x != 0]),
    Case("generator", lambda x: (smooth(one) for one in x), "J206"),
    Case("generator in a tuple", lambda x: (x.sum(), (one for one in x)), "J206",
         honest=lambda x: (x.sum(), x)),
    Case("generator in a dictionary", lambda x: {"y": iter(x)}, "J206",
         honest=lambda x: {"y": x}),
    Case("range", lambda x: range(64), "J206", honest=lambda x: np.arange(64)),
    Case("nditer", np.nditer, "J206", honest=lambda x: x * 1),
    Case("enumerate", enumerate, "J206", honest=lambda x: x * 1),
    Case("a coroutine", asynchronous, "J206"),
    Case("a future", lambda x: done(x), "J206"),
    Case("a partial", lambda x: functools.partial(smooth, x), "J206"),
    Case("a lambda", lambda x: lambda: smooth(x), "J206"),
    Case("a jitted lambda", lambda x: jax.jit(lambda: smooth_jax(x)), "J206",
         implementation="jax-eager"),
    Case("a thread", lambda x: threading.Thread(target=smooth, args=(x,)), "not compared"),
    # Nothing that could be checked.
    Case("nothing", lambda x: None, "not compared", honest=lambda x: None),
    Case("an object", lambda x: object(), "not compared", honest=lambda x: object()),
    Case("a set", lambda x: {1.0, 2.0}, "not compared", honest=lambda x: {1.0, 2.0}),
    Case("shapes instead of values", lambda x: jax.eval_shape(smooth_jax, x), "not compared",
         implementation="jax-eager"),
    Case("not checked, as requested", smooth_jax, "results were not compared",
         implementation="jax", settings={"check": False}),
    Case("a reference that fails", smooth_jax, "not compared", implementation="jax",
         settings={"reference": lambda x: 1 / 0}),
    Case("NaN everywhere", lambda x: x * np.nan, "J203", honest=lambda x: x * np.nan),
    # Different work.
    Case("another shape", lambda x: smooth(x)[:, None], "results differ"),
    Case("a part of the result", lambda x: smooth(x)[:10], "results differ"),
    Case("fewer results", lambda x: smooth(x), "results differ",
         honest=lambda x: (smooth(x), x)),
    Case("nothing instead of something", lambda x: None, "results differ"),
    Case("an approximation", lambda x: x * x * 0.9, "results differ"),
    Case("a random result", random_result, "differ from call to call"),
    Case("its input", lambda x: x, "results differ"),
    Case("text instead of numbers", lambda x: ["a"] * 64, "results differ",
         honest=lambda x: ["b"] * 64),
    Case("an overflow", lambda x: (x.astype(np.int8) * 100).sum(), "results differ",
         honest=lambda x: (x.astype(np.int64) * 100).sum()),
    Case("more precision", lambda x: smooth(x.astype(np.float64)), "J202"),
    Case("less precision", lambda x: smooth_jax(x).astype(jnp.bfloat16), "J202",
         implementation="jax"),
    # JAX's own.
    Case("dead work", lambda x: (x @ x, x + 1)[1], "J104", implementation="jax",
         honest=lambda x: x + 1),
    Case("an unused input", lambda x, y: x * 2, "J103", implementation="jax",
         honest=lambda x, y: x * 2, inputs={"x": X, "y": X}),
    Case("constants", lambda x: x + jnp.asarray(BIG).sum(), "J101", implementation="jax",
         honest=lambda x: x + BIG.sum()),
    Case("nothing computed", lambda x: jnp.ones(64), "J102", implementation="jax",
         honest=lambda x: np.ones(64, np.float32)),
    Case("host data in each call", lambda x: jnp.asarray(np.asarray(x) * 2), "J106",
         implementation="jax-eager", honest=lambda x: x * 2),
    Case("a host value", lambda x: float(x.sum()), "J111", implementation="jax-eager",
         honest=lambda x: x.sum()),
    Case("a jit in each call", fresh_jit, "J107", implementation="jax-eager"),
    Case("a view", lambda x: x[::-1], "J110", honest=lambda x: x[::-1],
         settings={"with_jax": True}),
    # Effects.
    Case("in place", in_place, "J112"),
    Case("prints", printing, "J113"),
    Case("raises at its 9th call", counted(9), "in call 9"),
    Case("raises at its second call", counted(2), "in call 2"),
)  # fmt: skip


def into_buffer():
    buffer = np.empty(64, np.float32)

    def filled(x):
        np.multiply(np.tanh(x), x, out=buffer)
        return buffer

    return filled


def into_two_buffers():
    buffers = itertools.cycle([np.empty(64, np.float32), np.empty(64, np.float32)])

    def filled(x):
        return np.multiply(np.tanh(x), x, out=next(buffers))

    return filled


def viewed_buffer():
    buffer = np.empty((2, 64), np.float32)

    def filled(x):
        buffer[0] = smooth(x)
        return buffer[0]

    return filled


TABLE = np.linspace(1, 2, 64, dtype=np.float32)


def cached_table(x):
    return smooth(x) * TABLE


def with_constants(x):
    return smooth(x), TABLE


def bisect(f, low, high):
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if f(middle) < 0 else (low, middle)
    return low


HEALTHY = (
    Case("the same twice", smooth),
    Case("jitted", smooth_jax, implementation="jax"),
    Case("eager", smooth_jax, implementation="jax-eager"),
    Case("each reads its own copy", lambda x, y: smooth(x), honest=lambda x, y: smooth(y),
         inputs={"x": X, "y": X.astype(np.float32)}),
    Case("one reads a transposed copy", lambda w, t: w @ w, honest=lambda w, t: t.T @ t.T,
         inputs={"w": normal(8, 8), "t": normal(8, 8).T.copy()}),
    Case("a jitted function, called", jax.jit(smooth_jax), implementation="jax-eager"),
    Case("into a buffer", into_buffer()),
    Case("into two buffers", into_two_buffers()),
    Case("a view of a buffer", viewed_buffer()),
    Case("both into buffers", into_buffer(), honest=into_buffer()),
    Case("a cached table", cached_table, honest=cached_table),
    Case("a constant beside the result", with_constants, honest=with_constants),
    Case("a list", lambda x: list(map(float, smooth(x))),
         honest=lambda x: [float(one) for one in smooth(x)]),
    Case("a tuple", lambda x: tuple(smooth(x)), honest=lambda x: tuple(smooth(x))),
    Case("a dictionary", lambda x: {"b": smooth(x), "a": x + 1},
         honest=lambda x: {"a": x + 1, "b": smooth(x)}),
    Case("a number of Python", lambda x: float(mean(x)), honest=mean),
    Case("a sum", lambda x: x.sum(), honest=np.sum),
    Case("a maximum", lambda x: x.max(), honest=np.max),
    Case("an index", lambda x: jnp.argmax(x), honest=np.argmax, implementation="jax"),
    Case("a count", lambda x: int((x > 0).sum()), honest=lambda x: np.count_nonzero(x > 0)),
    Case("a small integer", lambda x: int(x.shape[0] > 3), honest=lambda x: int(len(x) > 3)),
    Case("a bool", lambda x: bool((x > 99).any()), honest=lambda x: (x > 99).any()),
    Case("a bool of JAX", lambda x: (x > 99).any(), honest=lambda x: (x > 99).any(),
         implementation="jax"),
    Case("the first ten", lambda x: x[:10] * 2, honest=lambda x: x[:10] * 2),
    Case("a clip that nothing passes", lambda x: np.clip(x, 9, 9.5),
         honest=lambda x: np.clip(x, 9, 9.5)),
    Case("a normalised vector", lambda x: x / np.linalg.norm(x),
         honest=lambda x: x / np.sqrt((x * x).sum())),
    Case("a sign", np.sign, honest=lambda x: np.sign(x)),
    Case("a rank", lambda x: np.argsort(np.argsort(x)), honest=lambda x: x.argsort().argsort()),
    Case("a sort", np.sort, honest=lambda x: np.sort(x)),
    Case("a shape alone", lambda x: np.zeros(x.shape), honest=np.zeros_like,
         settings={"tolerance": 1e-3}),
    Case("a median", np.median, honest=lambda x: np.sort(x)[31:33].mean()),
    Case("a matrix product", lambda x: x @ x, honest=lambda x: np.matmul(x, x),
         inputs={"x": normal(8, 8)}),
    Case("Cholesky", np.linalg.cholesky, honest=lambda x: np.linalg.cholesky(x),
         inputs={"x": POSITIVE}),
    Case("Cholesky, jitted", jnp.linalg.cholesky, honest=np.linalg.cholesky,
         inputs={"x": POSITIVE}, implementation="jax"),
    Case("eigenvalues", np.linalg.eigvalsh, honest=lambda x: np.linalg.eigh(x)[0],
         inputs={"x": POSITIVE}),
    Case("a gather", lambda x, i: x[i], honest=lambda x, i: np.take(x, i),
         inputs={"x": X, "i": np.array([3, 1, 63])}),
    Case("integers", lambda x: x * 3, honest=lambda x: x + x + x,
         inputs={"x": np.arange(64)}),
    Case("bools", lambda x: ~x, honest=np.logical_not, inputs={"x": X > 0}),
    Case("ones", lambda x: x * 2, honest=lambda x: x + x, inputs={"x": np.ones(64, np.float32)}),
    Case("zeros", lambda x: np.exp(x), honest=np.exp, inputs={"x": np.zeros(64, np.float32)}),
    Case("a scalar", lambda x: np.sin(x), honest=np.sin, inputs={"x": 0.5}),
    Case("a root by bisection", lambda x: bisect(lambda y: y * y * y - x, 0.0, 2.0),
         honest=np.cbrt, inputs={"x": 0.5}, settings={"tolerance": 1e-5}),
    Case("an empty array", lambda x: x * 2, honest=lambda x: x + x, inputs={"x": normal(0)}),
    Case("searchsorted", lambda x: np.searchsorted(x, 0.3), honest=lambda x: int((x < 0.3).sum()),
         inputs={"x": np.sort(X)}),
    Case("complex numbers", np.conj, honest=lambda x: x.conj(),
         inputs={"x": X.astype(np.complex64)}),
    Case("text", lambda x: [f"{one:.2f}" for one in x],
         honest=lambda x: [format(one, ".2f") for one in x]),
    Case("a static number", lambda n, x: x[:n] * 2, honest=lambda n, x: x[:n] + x[:n],
         inputs={"n": 8, "x": X}),
    Case("two inputs", lambda x, y: x + y, honest=np.add, inputs={"x": X, "y": Y}),
    Case("no input is changed by a fill", lambda x: np.full(64, 2.0, np.float32),
         honest=lambda x: np.full(64, 2.0, np.float32)),
    Case("a donated input", lambda x: x * 2, honest=lambda x: x * 2, implementation="jax",
         settings={"options": {"donate_argnums": (0,)}}),
    Case("a cumulative sum", jnp.cumsum, honest=np.cumsum, implementation="jax"),
    Case("a scan", lambda x: jax.lax.scan(lambda c, v: (c + v, c + v), jnp.float32(0), x)[1],
         honest=np.cumsum, implementation="jax"),
    Case("a large sum", lambda x: x.sum(), honest=np.sum, inputs={"x": normal(1 << 16)}),
    Case("a memory view", memoryview, honest=lambda x: x * 1),
)  # fmt: skip
