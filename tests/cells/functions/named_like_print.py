# Functions named like print, type, isinstance, len and range.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def print(v): return v * 2
def type(v): return v + 1
def isinstance(v, w): return v * w
def len(v): return v.sum()
def range(v): return v - 1
y = [print(x), type(x), isinstance(x, 3), len(x), range(x)]
del print, type, isinstance, len, range

# %% change
x = x + 1
