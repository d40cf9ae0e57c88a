# A cell that does nothing leaves everything as it was.

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
pass
...
