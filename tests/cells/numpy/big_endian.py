# An array in the other byte order.
# expect: same or refused "."

# %% setup
import jax.numpy as jnp
import numpy as np
a = np.arange(3, dtype=">f4")

# %% cell
y = jnp.asarray(a.astype(np.float32)) * 2

# %% after
z = jnp.ones(2)
