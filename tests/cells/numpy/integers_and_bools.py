# Integer and bool arrays are traced.
# differs: total numpy-becomes-array
# differs: other numpy-becomes-array
# compiles: 1 0

# %% setup
import jax.numpy as jnp
import numpy as np
index = np.array([2, 0, 1])
mask = np.array([True, False, True])
small = np.array([1, 2, 3], np.uint8)
x = jnp.arange(3.0)

# %% cell
y = jnp.where(mask, x[index], 0) + small
total = index + 1
other = ~mask

# %% change
index = np.array([0, 0, 2])
mask = ~mask
