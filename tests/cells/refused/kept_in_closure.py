# A traced value in the variable of a closure.
# expect: refused "a variable of a closure"

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
def make():
    kept = None
    def put(v):
        nonlocal kept
        kept = v
    def get(): return kept
    return put, get
put, get = make()

# %% cell
put(x * 2)

# %% change
x = x + 1

# %% after
kept = get()
