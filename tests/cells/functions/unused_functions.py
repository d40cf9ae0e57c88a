# Functions that nothing calls, and one that is called in another.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def unused(v): return v.missing
def helper(v): return v * 2
def f(v): return helper(v) + 1

y = 3
z = f(x)

# %% change
x = x + 1
