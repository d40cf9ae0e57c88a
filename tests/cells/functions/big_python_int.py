# A Python integer beyond 32 bits.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def f(v, n): return v + n % 7

rows = [f(x, 2**40), f(x, -(2**40)), f(x, 10**30)]

# %% change
x = x + 1
