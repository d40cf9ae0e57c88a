# A Python decision on a traced value in a function.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def f(v): return v * 2 if v.sum() > 1 else v

def norm(v):
    while v.max() > 1:
        v = v / 2
    return v

rows = [f(x), f(-x), norm(x * 4)]

# %% change
x = x + 1
