# A function that calls itself.

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
def f(v, depth=()):
    return v if len(depth) == 2 else f(v * 2, (*depth, 0))

y = f(x)

# %% change
x = x + 1
