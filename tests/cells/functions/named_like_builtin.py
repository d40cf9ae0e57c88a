# Functions named like a builtin and like a module.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def sum(v): return v.sum() * 2
def math(v): return v + 1

y, z = sum(x), math(x)

# %% after
del sum, math
