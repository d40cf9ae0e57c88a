# A function that Flax jits.
# needs: flax

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
from flax import nnx

# %% cell
@nnx.jit
def f(v): return v * 2

y = f(x)

# %% change
x = x + 1
