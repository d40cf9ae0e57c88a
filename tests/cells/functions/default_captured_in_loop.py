# Defaults that keep the loop variable.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
fs = [lambda v, k=k: v * k for k in range(3)]
rows = [g(x) for g in fs]
for k in range(2):
    def h(v, k=k): return v + k
    rows.append(h(x))
del fs, h, k

# %% change
x = x + 1
