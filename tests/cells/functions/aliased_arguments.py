# One array given twice, and then two arrays.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def f(a, b): return a - b, a is b

rows = [f(x, x), f(x, x + 1), f(x, x)]

# %% change
x = x + 1
