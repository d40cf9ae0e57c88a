# An error of a traced value that the function catches.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def f(v):
    try:
        return float(v)
    except Exception:
        return -1.0

y = f(x[1])

# %% change
x = x + 1
