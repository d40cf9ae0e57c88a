"""Programs whose HLO the tests read: each a function of nothing that gives a lowered program."""

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

_FLOAT = jnp.float32


def _array(*dims: int, dtype: Any = _FLOAT) -> Any:
    return jax.ShapeDtypeStruct(dims, dtype)


def _matmul_chain(a, b):
    return jnp.tanh(a @ b) @ jnp.ones((32, 8)) + 1


def _scan(w, xs):
    def body(carry, x):
        carry = jnp.tanh(carry @ w + x)
        return carry, carry.sum()

    return lax.scan(body, jnp.zeros(16), xs)


def _nested_scan(x):
    def inner(carry, _):
        return jnp.tanh(carry @ carry.T @ carry), None

    def outer(carry, _):
        return lax.scan(inner, carry, None, length=7)[0], None

    return lax.scan(outer, x, None, length=5)[0]


def _fori(w):
    return lax.fori_loop(3, 40, lambda i, c: jnp.sin(c @ w) + i, jnp.ones((4, 16)))


def _dynamic_while(w, n):
    return lax.while_loop(
        lambda c: c[0] < n, lambda c: (c[0] + 1, jnp.tanh(c[1] @ w)), (0, jnp.ones(16))
    )


def _convolution(x, w):
    return lax.conv_general_dilated(
        x,
        w,
        (2, 3),
        ((1, 2), (0, 4)),
        lhs_dilation=(2, 1),
        rhs_dilation=(1, 2),
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
        feature_group_count=2,
    )


def _convolution_gradient(w, x):
    return jax.grad(lambda w: (lax.conv_general_dilated(x, w, (2, 2), "SAME") ** 2).sum())(w)


def _sort_and_scatter(x, i):
    return jnp.sort(x).at[i].add(3.0), jnp.cumsum(x), jnp.argmax(x)


def _linear_algebra(a):
    return jnp.linalg.cholesky(a @ a.T), jnp.linalg.qr(a), jnp.linalg.solve(a, a), jnp.fft.fft(a)


def _branches(x, i):
    chosen = lax.switch(i, [jnp.sin, lambda x: x @ jnp.ones((32, 32)), lambda x: x * 2], x)
    return chosen, lax.cond(i > 3, jnp.sum, jnp.max, x)


def _attention_gradient(q, k, v):
    def loss(q, k, v):
        return (jax.nn.softmax(jnp.einsum("bhqd,bhkd->bhqk", q, k) / 3.0) @ v).sum()

    return jax.grad(loss, (0, 1, 2))(q, k, v)


def _random(seed):
    key = jax.random.key(seed)
    return jax.random.normal(key, (100,)), jax.random.permutation(key, 50)


def _slices(x, i, u):
    return (
        x[:, 3:50:2].sum(),
        x[i],
        lax.dynamic_update_slice(x, u, (i[0], 0)),
        lax.dynamic_slice(x, (i[1], 0), (2, 64)),
        jnp.pad(x, 1),
    )


def _gather_then_sum(table, rows):
    return table[rows].sum(0) * 2


def _elementwise(a, b):
    whole = b.astype(int)
    return (
        jnp.abs(a) + jnp.floor(b) - jnp.sign(a) * lax.erf(b) + jnp.where(a > b, a, b),
        jnp.clip(a, 0, 1) + lax.population_count(whole) + lax.clz(whole) + jnp.isfinite(a),
        jnp.atan2(a, b) + lax.cbrt(a) + jnp.tan(a) + a**b + lax.rem(a, b) + lax.logistic(a),
        lax.rsqrt(a) + jnp.round(a) + lax.expm1(a) + lax.reduce_precision(a, 5, 5),
        lax.bitcast_convert_type(lax.bitcast_convert_type(b, jnp.int32) << 3, _FLOAT),
        jnp.abs(lax.complex(a, b)) + jnp.real(lax.complex(a, b) ** 2),
    )


def _several_results(a, b):
    add_and_multiply = lambda x, y: (x[0] + y[0], x[1] * y[1])  # noqa: E731
    return (
        lax.sort((a, b), num_keys=1),
        lax.reduce((a, b), (0.0, 0.0), add_and_multiply, (0,)),
        lax.optimization_barrier((a, b)),
    )


def _pooling(a):
    def pool(a):
        return lax.reduce_window(a, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")

    return pool(a), jax.grad(lambda a: pool(a).sum())(a)


def _transforms(a):
    return jnp.fft.rfft(a), jnp.fft.fft2(a), a.T @ a, a.T.copy(), a[::-1]


def _callback(a):
    return jax.pure_callback(lambda x: x, jax.ShapeDtypeStruct((5,), _FLOAT), a) + 1


def _donated(x, y):
    return x + y, x - y


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "matmul_chain": (_matmul_chain, (_array(64, 128), _array(128, 32))),
    "scan": (_scan, (_array(16, 16), _array(20, 16))),
    "nested_scan": (_nested_scan, (_array(8, 16),)),
    "fori": (_fori, (_array(16, 16),)),
    "dynamic_while": (_dynamic_while, (_array(16, 16), _array(dtype=jnp.int32))),
    "convolution": (_convolution, (_array(4, 28, 27, 6), _array(3, 4, 3, 8))),
    "convolution_gradient": (_convolution_gradient, (_array(8, 3, 3, 3), _array(4, 3, 9, 9))),
    "sort_and_scatter": (_sort_and_scatter, (_array(100), _array(10, dtype=jnp.int32))),
    "linear_algebra": (_linear_algebra, (_array(32, 32),)),
    "branches": (_branches, (_array(32), _array(dtype=jnp.int32))),
    "attention_gradient": (_attention_gradient, (_array(2, 4, 16, 8),) * 3),
    "random": (_random, (_array(dtype=jnp.int32),)),
    "slices": (_slices, (_array(8, 64), _array(5, dtype=jnp.int32), _array(4, 64))),
    "gather_then_sum": (_gather_then_sum, (_array(1000, 64), _array(8, dtype=jnp.int32))),
    "elementwise": (_elementwise, (_array(33), _array(33))),
    "several_results": (_several_results, (_array(50, 7), _array(50, 7))),
    "pooling": (_pooling, (_array(2, 8, 8, 3),)),
    "transforms": (_transforms, (_array(16, 32),)),
    "callback": (_callback, (_array(5),)),
    "donated": (_donated, (_array(7), _array(7))),
}


@cache
def lowered(name: str) -> Any:
    function, arguments = PROGRAMS[name]
    return jax.jit(function, donate_argnums=(0,) if name == "donated" else ()).lower(*arguments)


@cache
def compiled(name: str) -> Any:
    return lowered(name).compile()


def text(name: str, stage: str) -> str:
    """The HLO of a program, `before` or `after` optimization."""
    if stage == "after":
        return compiled(name).as_text()
    return lowered(name).compiler_ir("hlo").as_hlo_module().to_string()
