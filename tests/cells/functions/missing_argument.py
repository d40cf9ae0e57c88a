# A call with a missing argument fails as in plain Python.
# expect: fails TypeError "missing 1 required"

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def f(v, w): return v * w

y = f(x)
