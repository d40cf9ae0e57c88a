# Functions named like builtins.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def sum(v): return v * 10
def float(v): return v + 1

rows = [sum(x), float(x)]
del sum, float

# %% change
x = x + 1
