# An array that the cell itself made with NumPy may be changed in place.
# may differ: y numpy-becomes-array

# %% setup
import numpy as np, jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
weights = np.zeros(3, np.float32)
weights[1:] = 2
weights += 1
order = np.argsort(-weights, kind="stable")
weights.sort()
mask = weights > 1
y = x * weights
z = x[order]
n_big = int(mask.sum())

# %% change
x = x * 3
