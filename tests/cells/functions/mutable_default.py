# A mutable default that grows with each call.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def f(v, seen=[]):
    seen.append(v.shape)
    return v * len(seen)

rows = [f(x), f(x), f(x[:2])]
del f

# %% change
x = x + 1
