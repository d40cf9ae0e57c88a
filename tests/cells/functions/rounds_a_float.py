# A function that rounds a Python float.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def f(v, lr):
    return v * round(lr)

y = f(x, 2.6)

# %% change
x = x + 1
