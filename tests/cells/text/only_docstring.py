# A cell that is only a string shows it.

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
"""Only words."""
