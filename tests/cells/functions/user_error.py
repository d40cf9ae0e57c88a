# An error of the function itself, caught by the cell.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def f(v):
    if v.shape[0] == 3:
        raise KeyError("three")
    return v

try:
    y = f(x)
except KeyError as error:
    kind = str(error)

# %% change
x = x + 1
