# A NumPy input that was changed in place between the runs.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
import numpy as np
a = np.ones(4, np.float32)

# %% cell
y = jnp.cumsum(a)

# %% change
a[1] = 10

# %% after
a[0] = 99
z = y + 1
