# The result has a different shape, so it needs its own buffer.
# silent: missed_donation

# %% setup
import jax, jax.numpy as jnp
w = jnp.ones((600, 600))

# %% cell
w = (w - 0.1 * w)[:300]
