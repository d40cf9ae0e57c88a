# A function that prints something known prints it in every call.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def f(v):
    print("shape", v.shape)
    return v * 2

rows = [f(x) for _ in range(3)]

# %% change
x = x + 1
