# A dictionary argument that the function changes.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
shared = {}

# %% cell
def put(d, v): d["a"] = v * 2

d = {}
put(d, x)
put(shared, x)

# %% change
x = x + 1
