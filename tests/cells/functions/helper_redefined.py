# A helper that is defined again between two calls.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def helper(v): return v + 1
def f(v): return helper(v) * 2

a = f(x)
def helper(v): return v - 1
b = f(x)

# %% change
x = x + 1
