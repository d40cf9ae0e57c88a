# Dictionaries whose keys cannot be sorted.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
table = {1: x, 'a': x + 1, None: x}

# %% cell
def f(d): return {k: v * 2 for k, v in d.items()}

y = f(table)
z = f(table)

# %% change
x = x + 1
