# A loop variable that the function reads.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def f(v): return v * i

rows = []
for i in range(3):
    rows.append(f(x))

# %% change
x = x + 1
