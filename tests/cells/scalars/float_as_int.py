# A float used as an int is static.

# %% setup
import jax.numpy as jnp
width = 3.0
x = jnp.arange(6.0)

# %% cell
y = x[: int(width)]

# %% change
width = 2.0

# %% after
z = width * 2
