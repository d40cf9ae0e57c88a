# A function that the user jits with donation.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def f(v): return v + 1

g = jax.jit(f, donate_argnums=0)
buffer = x * 1
y = g(buffer)
deleted = buffer.is_deleted()
del g, buffer

# %% change
x = x + 1
