# A function that counts its calls in an attribute of itself.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def f(v):
    f.calls += 1
    return v * f.calls

f.calls = 0
rows = [f(x) for _ in range(3)]

# %% change
x = x + 1
