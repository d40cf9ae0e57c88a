# A list argument that the cell changes between two calls.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def total(rows): return sum(rows)

rows = [x, x]
a = total(rows)
rows.append(x)
b = total(rows)

# %% change
x = x + 1
