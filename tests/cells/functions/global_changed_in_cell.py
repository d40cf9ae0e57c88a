# A global that changes between two calls.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
scale = 2.0

# %% cell
def f(v): return v * scale

a = f(x)
scale = 3.0
b = f(x)

# %% change
scale = 5.0
