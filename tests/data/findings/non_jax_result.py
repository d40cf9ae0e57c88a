# What NumPy computes of a masked array is in no program.
# silent: non_jax_constant

# %% setup
import jax.numpy as jnp
import numpy as np
rain = np.ma.masked_less(np.arange(6.0), 2)
x = jnp.arange(6.0)

# %% cell
total = rain.sum()
y = jnp.sin(x) * 2
