"""Residuals of random programs: those that JAX lists."""

import contextlib
import io

import jax
import jax.numpy as jnp
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.ad_checkpoint import print_saved_residuals

from tests.capture.jaxpr.gradients import W, X
from tests.capture.jaxpr.test_gradient_residuals import kept, outermost

OPERATIONS = {
    "sin": lambda x, w: jnp.sin(x),
    "tanh": lambda x, w: jnp.tanh(x),
    "exp": lambda x, w: jnp.exp(-x),
    "matmul": lambda x, w: x @ w,
    "square": lambda x, w: x * x,
    "cube": lambda x, w: x**3,
    "mean": lambda x, w: x - x.mean(-1, keepdims=True),
    "softmax": lambda x, w: jax.nn.softmax(x),
    "weight": lambda x, w: x * w[0],
    "roll": lambda x, w: jnp.concatenate([x[1:], x[:1]]),
    "scale": lambda x, w: 3.0 * x + 1.0,
}
AROUND = ("plain", "jit", "checkpoint", "scan", "vmap")


def applied(names, x, w):
    for name in names:
        x = OPERATIONS[name](x, w)
    return x


def part(around, names, x, w):
    def run(x, w):
        return applied(names, x, w)

    match around:
        case "jit":
            return jax.jit(run)(x, w)
        case "checkpoint":
            return jax.checkpoint(run)(x, w)
        case "scan":
            return jax.lax.scan(lambda c, _: (run(c, w), None), x, None, length=3)[0]
        case "vmap":
            rows = [name for name in names if name != "roll"]
            return jax.vmap(lambda row: applied(rows, row[None], w)[0])(x)
        case _:
            return run(x, w)


parts = st.tuples(
    st.sampled_from(AROUND), st.lists(st.sampled_from(sorted(OPERATIONS)), min_size=1, max_size=4)
)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.lists(parts, min_size=1, max_size=3))
def test_random_programs_keep_what_jax_lists(program):
    def loss(w, x):
        for around, names in program:
            x = part(around, names, x, w)
        return jnp.sum(x**2)

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        print_saved_residuals(loss, W, X)
    lines = out.getvalue().strip().splitlines()
    listed = sorted(line.split(" ")[0] for line in lines if "from a literal" not in line)
    assert listed
    assert outermost(kept(jax.grad(loss, argnums=(0, 1)), W, X)) == listed
