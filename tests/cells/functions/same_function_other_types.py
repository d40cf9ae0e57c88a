# One function with weak types, other shapes and other dtypes in turn.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def f(a, b): return a + b

rows = [f(x, 1), f(x, 1.0), f(x, x), f(x[0], 2), f(x[:, None], x), f(x, jnp.int32(1)), f(x, True)]

# %% change
x = x + 1
