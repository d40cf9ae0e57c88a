# A Python loop of gradient steps, unrolled by tracing.
# compiles: 1 0

# %% setup
import jax
import jax.numpy as jnp
w = jnp.zeros(3)
x = jnp.arange(6.0).reshape(2, 3)
t = jnp.ones(2)
grad = jax.grad(lambda p, v, u: ((v @ p - u) ** 2).mean())
losses = []

# %% cell
trace = []
for epoch in range(3):
    w = w - 0.05 * grad(w, x, t)
    trace.append(w.sum())

# %% after
losses += trace
