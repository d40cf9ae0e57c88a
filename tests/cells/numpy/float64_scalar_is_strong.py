# `np.float64` is a Python float too, but it widens like an array does.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
import numpy as np
x = jnp.ones(3, jnp.bfloat16)
weak = 2.0
strong = np.float64(2.0)

# %% cell
y = x * weak
z = x * strong

# %% change
strong = np.float64(3.0)
