# A global of a helper of another cell, and a class attribute, change between two calls.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
factor = 1
def helper(v): return v * factor
class Settings:
    shift = 1

# %% cell
def f(v): return helper(v) + Settings.shift

a = f(x)
factor = 4
b = f(x)
Settings.shift = 2
c = f(x)

# %% change
x = x + 1
