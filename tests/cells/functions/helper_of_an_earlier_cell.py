# Helpers and jitted helpers of an earlier cell.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
SCALE = 2.0
def helper(v): return v * SCALE
@jax.jit
def jitted(v): return v + 1

# %% cell
def f(v): return jitted(helper(v))

rows = [f(x), helper(x), jitted(x)]

# %% change
SCALE = 3.0
