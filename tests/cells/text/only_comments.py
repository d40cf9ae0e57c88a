# A cell that is only comments does nothing.

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
# nothing here

# and nothing there

# %% change
x = x + 1
