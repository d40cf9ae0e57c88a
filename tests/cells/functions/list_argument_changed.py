# A list argument that the function changes.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
kept = []

# %% cell
def add(l, v):
    l.append(v * 2)
    return len(l)

n = add(kept, x)
m = add(kept, x)

# %% change
x = x + 1
