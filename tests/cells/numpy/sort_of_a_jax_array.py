# `a.sort()` of a JAX array gives a sorted copy, also beside a NumPy array.

# %% setup
import jax.numpy as jnp
import numpy as np
a, b = jnp.array([3.0, 1.0, 2.0]), np.ones(3, np.float32)

# %% cell
a.sort()
c = a + b
