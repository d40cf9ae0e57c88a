# The mask of a masked array is computed with, what NumPy computes of it is not.
# fires: non_jax_constant line 3

# %% setup
import jax.numpy as jnp
import numpy as np
rain = np.ma.masked_less(np.arange(6.0), 2)
x = jnp.arange(6.0)

# %% cell
total = rain.sum()
y = jnp.where(rain.mask, 0.0, x)
