# A global array that the cell assigns between two calls.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
w = x
def f(v): return v * w

a = f(x)
w = w + 1
b = f(x)
w = np.asarray(w)
c = f(x)
del w

# %% change
x = x + 1
