# Static arguments that are equal but of different types.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def f(v, n): return v * n, type(n).__name__

rows = [f(x, 1), f(x, True), f(x, 2), f(x, False), f(x, 0)]

# %% change
x = x + 1
