# A Python `if` on a traced argument: the call runs as plain Python.

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
def f(v):
    return v if v.sum() > 0 else -v

y = f(x)

# %% after
z = x + 1
