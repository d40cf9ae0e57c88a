# A function that returns an object array.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def rows(v):
    out = np.empty(2, object)
    out[0], out[1] = v * 2, None
    return out

a = rows(x)
y, n = a[0], a[1]
del a

# %% change
x = x + 1

# %% after
z = x + 1
