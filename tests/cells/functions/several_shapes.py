# One function, called with several shapes.

# %% setup
import jax.numpy as jnp

# %% cell
def f(v):
    return v.sum() * 2

ys = [f(jnp.ones(n)) for n in (1, 2, 3)]
again = f(jnp.zeros(2))
