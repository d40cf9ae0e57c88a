# `params = update(params)` run after run.
# compiles: 1 0

# %% setup
import jax
import jax.numpy as jnp
params = {"w": jnp.ones(3), "b": jnp.zeros(())}
x = jnp.arange(3.0)

def loss(p):
    return ((p["w"] * x + p["b"]) ** 2).sum()

# %% cell
value, grads = jax.value_and_grad(loss)(params)
params = jax.tree.map(lambda p, g: p - 0.01 * g, params, grads)
value
