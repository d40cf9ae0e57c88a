# A helper sees the name that the cell has just bound, as it does in plain Python.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
k = "not yet a number"

def helper(v):
    return v * k

# %% cell
k = x.sum()
y = helper(x)

# %% change
x = x + 1
