# A step that appends to a global list.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
losses = []

# %% cell
def step(v):
    losses.append(v.sum())
    return v * 2

for _ in range(3):
    x = step(x)

# %% change
x = x + 1
