# A generator function of another cell, suspended with a traced local.
# expect: refused "trac"

# %% setup
import jax.numpy as jnp

def doubling(v):
    while True:
        v = v * 2
        yield v

x = jnp.arange(3.0)

# %% cell
g = doubling(x)
y = next(g)

# %% after
z = x + 1
