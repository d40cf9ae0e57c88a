# A generator expression whose calls run in the next cell.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def f(v): return v * 2

rows = (f(x + i) for i in range(3))
first = next(rows)

# %% after
rest = list(rows)
rows = None
