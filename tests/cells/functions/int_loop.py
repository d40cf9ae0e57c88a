# An int that differs in each call.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def f(v, i): return v * i

rows = [f(x, i) for i in range(8)]

# %% change
x = x + 1
