# NumPy functions on an argument.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def f(v): return np.sin(v)
def g(v): return np.asarray(v).mean()

rows = [f(x), g(x)]

# %% change
x = x + 1
