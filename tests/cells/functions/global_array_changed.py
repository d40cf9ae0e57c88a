# A NumPy array that is filled in place between two calls.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
table = np.ones(3, np.float32)

# %% cell
def f(v): return v * table

a = f(x)
table[:] = 7
b = f(x)

# %% change
table[:] = 2
