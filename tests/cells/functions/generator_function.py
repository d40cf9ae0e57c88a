# A generator function is left alone.

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
def rows(v):
    for i in range(2):
        yield v * i

ys = list(rows(x))

# %% change
x = x + 1

# %% after
z = x + 1
