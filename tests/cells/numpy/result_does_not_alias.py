# A result does not share memory with a NumPy input that changes later.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
import numpy as np
a = np.ones(64, np.float32)

# %% cell
y = jnp.asarray(a) + 0
z = jnp.asarray(a).reshape(8, 8).T

# %% change
a[:] = 5

# %% after
a[:] = 99
w = y + z.sum()
