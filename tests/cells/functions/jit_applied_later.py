# jax.jit of a function of the cell, called with static arguments and keywords.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def f(v, n, scale=1.0):
    for _ in range(n):
        v = v * scale
    return v

g = jax.jit(f, static_argnames="n")
rows = [g(x, n=1), g(x, n=2, scale=2.0), f(x, 3, 0.5)]
del g

# %% change
x = x + 1
