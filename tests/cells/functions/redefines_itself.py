# A function that replaces itself.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def f(v):
    global f
    f = lambda v: v * 10
    return v

y, z = f(x), f(x)

# %% change
x = x + 1
