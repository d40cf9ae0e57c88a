# A function that keeps values in the variable of a closure.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def make():
    kept = None
    def put(v):
        nonlocal kept
        kept = v
        return v * 2
    def get(): return kept
    return put, get

put, get = make()
y = put(x)
kept = get()

# %% change
x = x + 1

# %% after
z = x + 1
