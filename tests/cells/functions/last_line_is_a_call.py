# The last line is a call, and is shown.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def f(v): return v * 2

f(x)

# %% change
x = x + 1
