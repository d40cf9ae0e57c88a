# A function that returns a function.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def make(v):
    return lambda u: u * v

g = make(x)
y = g(x)

# %% change
x = x + 1

# %% after
z = g(x + 1)
