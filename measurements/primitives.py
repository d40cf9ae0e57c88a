"""Expressions of one primitive each, for programs that use it between others.

`a` is float32[16, 16] between 0 and 1, `w` another; each result has an array of numbers.
"""

from __future__ import annotations


def _words(text: str) -> list[str]:
    return text.split()


_UNARY = _words(
    "abs arccos arccosh arcsin arcsinh arctan arctanh ceil cbrt cos cosh deg2rad exp2 "
    "expm1 fabs floor i0 isfinite isinf isnan log log10 log1p log2 logical_not negative positive "
    "reciprocal rint sign signbit sinc sinh sqrt square tan tanh trunc nan_to_num round"
)
_BINARY = _words(
    "add arctan2 copysign divide equal float_power floor_divide fmod greater greater_equal "
    "heaviside hypot less less_equal logaddexp logaddexp2 logical_and logical_or logical_xor "
    "maximum minimum multiply nextafter not_equal power remainder subtract"
)
_REDUCED = _words("sum prod max min mean var std any all argmax argmin ptp nansum median")
_LAX = _words(
    "bessel_i0e bessel_i1e digamma erf erf_inv erfc lgamma logistic rsqrt cumsum cumprod cummax "
    "cummin cumlogsumexp"
)
_NN = _words(
    "celu elu gelu glu hard_sigmoid hard_silu hard_tanh leaky_relu log_sigmoid log_softmax "
    "logsumexp relu relu6 selu sigmoid silu soft_sign softmax softplus sparse_plus squareplus "
    "standardize"
)
_SPECIAL = _words("entr erf erfinv expit gammaln i0e i1 logit ndtr ndtri xlog1py(a,w) xlogy(a,w)")
_FFT = _words("fft fft2 ifft rfft")
_LINALG = {
    "cholesky": "jnp.linalg.cholesky(a @ a.T + 16 * jnp.eye(16))",
    "qr": "jnp.linalg.qr(a)[1]",
    "svd": "jnp.linalg.svd(a)[1]",
    "eigh": "jnp.linalg.eigh(a + a.T)[0]",
    "solve": "jnp.linalg.solve(a + jnp.eye(16), w)",
    "solve of a vector": "jnp.linalg.solve(a + jnp.eye(16), w[0])",
    "inv": "jnp.linalg.inv(a + jnp.eye(16))",
    "det": "jnp.linalg.det(a)",
    "slogdet": "jnp.linalg.slogdet(a)[1]",
    "lu": "jax.scipy.linalg.lu_factor(a)[0]",
    "expm": "jax.scipy.linalg.expm(a)",
    "triangular solve": "jax.scipy.linalg.solve_triangular(a + jnp.eye(16), w)",
    "norm": "jnp.linalg.norm(a, axis=0)",
    "matrix power": "jnp.linalg.matrix_power(a, 3)",
    "pinv": "jnp.linalg.pinv(a)",
}
_PRODUCTS = {
    "matmul": "a @ w",
    "matmul of a transpose": "a @ w.T",
    "matrix times vector": "a @ w[0]",
    "vector times matrix": "w[0] @ a",
    "vector times vector": "jnp.dot(a[0], w[0])",
    "vdot": "jnp.vdot(a, w)",
    "outer": "jnp.outer(a[0], w[0])",
    "tensordot": "jnp.tensordot(a, w, 1)",
    "kron": "jnp.kron(a[:2, :2], w[:2, :2])",
    "batched": "jnp.matmul(a.reshape(4, 8, 8), w.reshape(4, 8, 8))",
    "einsum ij,ij->i": "jnp.einsum('ij,ij->i', a, w)",
    "einsum ij,kj->ik": "jnp.einsum('ij,kj->ik', a, w)",
    "einsum ij,jk,kl": "jnp.einsum('ij,jk,kl->il', a, w, w)",
    "bfloat16": "(a.astype(jnp.bfloat16) @ w.astype(jnp.bfloat16)).astype(jnp.float32)",
    "int8": "(lax.dot((a * 9).astype(jnp.int8), (w * 9).astype(jnp.int8))).astype(jnp.float32)",
    "complex": "(lax.complex(a, w) @ lax.complex(w, a)).real",
    "convolve": "jnp.convolve(a[0], w[0, :5])",
    "correlate": "jnp.correlate(a[0], w[0, :5])",
    "conv": "lax.conv(a[None, None], w[None, None, :3, :3], (1, 1), 'SAME')[0, 0]",
    "conv, strided": "lax.conv(a[None, None], w[None, None, :3, :3], (2, 2), 'VALID')[0, 0]",
    "max pool": "lax.reduce_window(a, -jnp.inf, lax.max, (2, 2), (2, 2), 'VALID')",
    "sum pool": "lax.reduce_window(a, 0.0, lax.add, (2, 2), (2, 2), 'VALID')",
}
_INDEXED = {
    "gather": "a[jnp.argsort(w[0])]",
    "take": "jnp.take(a, (w[0] * 9).astype(int), axis=0)",
    "take along axis": "jnp.take_along_axis(a, jnp.argsort(w, axis=1), axis=1)",
    "dynamic slice": "lax.dynamic_slice(a, ((w[0, 0] * 3).astype(int), 0), (4, 16))",
    "dynamic update": "lax.dynamic_update_slice(a, w[:2], ((w[0, 0] * 3).astype(int), 0))",
    "scatter add": "a.at[(w[0] * 9).astype(int)].add(1.5)",
    "scatter max": "a.at[(w[0] * 9).astype(int)].max(0.5)",
    "segment sum": "jax.ops.segment_sum(a, (w[0] * 4).astype(int), 4)",
    "one hot": "jax.nn.one_hot((w[0] * 4).astype(int), 8)",
    "searchsorted": "jnp.searchsorted(jnp.sort(a[0]), w[0]) * 1.0",
    "interp": "jnp.interp(a[0], jnp.arange(16.0), w[0])",
    "where": "jnp.where(a > w, a, w)",
    "select": "jnp.select([a > 0.5, w > 0.5], [a, w], 0.0)",
    "clip": "jnp.clip(a, 0.2, 0.7)",
    "bincount": "jnp.bincount((a[0] * 9).astype(int), length=10) * 1.0",
    "histogram": "jnp.histogram(a, 8)[0]",
    "digitize": "jnp.digitize(a[0], jnp.arange(4.0)) * 1.0",
    "unique": "jnp.unique(a, size=10)",
    "nonzero": "jnp.nonzero(a > 0.5, size=10)[0] * 1.0",
    "argwhere": "jnp.argwhere(a > 0.5, size=10) * 1.0",
    "diff": "jnp.diff(a, axis=0)",
    "roll": "jnp.roll(a, 3, axis=0) * 2",
    "pad": "jnp.pad(a, 2) * 2",
    "concatenate": "jnp.concatenate([a, w]) * 2",
    "triu": "jnp.triu(a)",
    "trace": "jnp.trace(a)",
    "diag": "jnp.diag(a[0]) * 2",
}
_SORTED = {
    "sort": "jnp.sort(a)",
    "sort axis 0": "jnp.sort(a, axis=0)",
    "argsort": "jnp.argsort(a) * 1.0",
    "lexsort": "jnp.lexsort((a[0], w[0])) * 1.0",
    "partition": "jnp.partition(a, 3)",
    "top k": "lax.top_k(a, 3)[0]",
    "quantile": "jnp.quantile(a, 0.3, axis=0)",
    "percentile": "jnp.percentile(a, 30)",
}
_CONTROL = {
    "scan": "lax.scan(lambda c, v: (c + v, c * v), a[0], w)[1]",
    "scan with a product": "lax.scan(lambda c, v: (jnp.tanh(w @ c), v @ c), a[0], w)[1]",
    "fori": "lax.fori_loop(0, 5, lambda i, v: v * 1.5 + w, a)",
    "while": "lax.while_loop(lambda v: v.sum() < 999, lambda v: v * 2 + w, a)",
    "cond": "lax.cond(w[0, 0] > 0.5, lambda v: v @ w, lambda v: v * 2, a)",
    "switch": "lax.switch((w[0, 0] * 3).astype(int), [jnp.sin, lambda v: v @ w, jnp.cos], a)",
    "map": "lax.map(lambda v: v @ w, a)",
    "associative scan": "lax.associative_scan(jnp.multiply, a)",
    "vmap": "jax.vmap(lambda u, v: u @ v)(a, w)",
    "vmap of cumsum": "jax.vmap(jnp.cumsum)(a)",
    "vectorize": "jnp.vectorize(lambda v: v * 2 + 1)(a)",
    "apply along axis": "jnp.apply_along_axis(jnp.cumsum, 0, a)",
    "piecewise": "jnp.piecewise(a, [a < 0.3], [lambda v: v * 2, jnp.cos])",
    "checkpoint": "jax.checkpoint(lambda v: jnp.cos(v) @ w)(a)",
    "custom_jvp": "jax.nn.relu(a) * jax.nn.silu(w)",
}
_DERIVED = {
    "grad of a product": "jax.grad(lambda v: (v @ w).sum())(a)",
    "grad of matvec": "jax.grad(lambda v: (jnp.tanh(v @ w[0])).sum())(a)",
    "grad of cumsum": "jax.grad(lambda v: (jnp.cumsum(v) ** 2).sum())(a)",
    "grad of max pool": (
        "jax.grad(lambda v: lax.reduce_window(v, -jnp.inf, lax.max, (2, 2), (2, 2), 'VALID')"
        ".sum())(a)"
    ),
    "grad of sort": "jax.grad(lambda v: (jnp.sort(v) * w).sum())(a)",
    "grad of softmax": "jax.grad(lambda v: (jax.nn.softmax(v) * w).sum())(a)",
    "grad of conv": (
        "jax.grad(lambda v: (lax.conv(v[None, None], w[None, None, :3, :3], (1, 1), 'SAME') ** 2)"
        ".sum())(a)"
    ),
    "jvp": "jax.jvp(lambda v: jnp.cos(v) @ w, (a,), (w,))[1]",
    "hessian": "jax.hessian(lambda v: (v ** 3).sum())(a[0])",
    "jacfwd": "jax.jacfwd(lambda v: jnp.cos(v) * w[0])(a[0])",
}
_RANDOM = {
    name: f"jax.random.{call}"
    for name, call in {
        "normal": "normal(jax.random.key(0), (16, 16)) * a",
        "uniform": "uniform(jax.random.key(0), (16, 16)) * a",
        "randint": "randint(jax.random.key(0), (16, 16), 0, 9) * a",
        "gumbel": "gumbel(jax.random.key(0), (16, 16)) * a",
        "permutation": "permutation(jax.random.key(0), a)",
        "categorical": "categorical(jax.random.key(0), a) * 1.0",
        "bernoulli": "bernoulli(jax.random.key(0), a) * 1.0",
        "gamma": "gamma(jax.random.key(0), a + 1)",
        "choice": "choice(jax.random.key(0), a, (4,))",
        "exponential": "exponential(jax.random.key(0), (16, 16)) * a",
    }.items()
}
_TYPED = {
    "sum of integers": "(a * 100).astype(int).sum(0)",
    "sum of complex numbers": "lax.complex(a, w).sum(0).real",
    "any of rows": "(a > 0.5).any(axis=1)",
    "count nonzero": "jnp.count_nonzero(a > 0.5, axis=0)",
    "allclose": "jnp.allclose(a, w) * 1.0",
    "reduce": "lax.reduce(a, 1.0, lax.mul, (0,))",
    "bitwise": "((a * 99).astype(int) ^ 5) & 12",
    "shift": "(a * 99).astype(int) << 2",
    "popcount": "lax.population_count((a * 99).astype(int))",
    "clz": "lax.clz((a * 99).astype(int))",
    "convert": "a.astype(jnp.bfloat16).astype(jnp.float32)",
    "reduce precision": "lax.reduce_precision(a, 5, 5)",
    "betainc": "jax.scipy.special.betainc(a + 1, w + 1, a)",
    "igamma": "jax.scipy.special.gammainc(a + 1, w)",
    "zeta": "jax.scipy.special.zeta(a + 2, w + 1)",
    "polygamma": "jax.scipy.special.polygamma(1, a + 1)",
    "integer power": "a ** 3",
    "cross": "jnp.cross(a[:, :3], w[:, :3])",
    "polyval": "jnp.polyval(w[0, :4], a)",
    "cov": "jnp.cov(a)",
    "corrcoef": "jnp.corrcoef(a)",
    "average": "jnp.average(a, axis=0, weights=w)",
    "meshgrid": "jnp.meshgrid(a[0], w[0])[0] * 2",
    "nanmean": "jnp.nanmean(a, axis=0)",
    "gradient": "jnp.gradient(a, axis=0)",
    "trapezoid": "jnp.trapezoid(a, axis=0)",
}

PRIMITIVES: dict[str, str] = {
    **{name: f"jnp.{name}(a)" for name in _UNARY},
    **{name: f"jnp.{name}(a, w)" for name in _BINARY},
    **{f"{name}, axis {n}": f"jnp.{name}(a, axis={n}) * 1.0" for name in _REDUCED for n in (0, 1)},
    **{f"lax.{name}": f"lax.{name}(a)" for name in _LAX},
    **{f"nn.{name}": f"jax.nn.{name}(a)" for name in _NN},
    **{f"special.{n}": f"jax.scipy.special.{n if '(' in n else n + '(a)'}" for n in _SPECIAL},
    **{f"fft.{name}": f"jnp.abs(jnp.fft.{name}(a))" for name in _FFT},
    **_LINALG,
    **_PRODUCTS,
    **_INDEXED,
    **_SORTED,
    **_CONTROL,
    **_DERIVED,
    **_RANDOM,
    **_TYPED,
}
