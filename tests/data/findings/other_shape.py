# The result has another shape, so it needs memory of its own.
# silent: missed_donation

# %% setup
import jax, jax.numpy as jnp
w = jnp.ones((600, 600))

# %% cell
w = (w - 0.1 * w)[:300]
