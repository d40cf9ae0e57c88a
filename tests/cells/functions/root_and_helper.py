# The function that the cell calls is compiled with its helper; both stay plain functions.

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
def inner(v):
    return v * 2

def outer(v):
    return inner(v) + 1

y = outer(x)

# %% change
x = x + 1

# %% after
z = inner(3)
