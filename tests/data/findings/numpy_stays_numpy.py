# float64 in NumPy's own part of the cell is NumPy's.
# silent: float64_disabled

# %% setup
import numpy as np, jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
table = np.zeros(3, dtype=np.float64)
k = int(table.sum())
y = x * k
