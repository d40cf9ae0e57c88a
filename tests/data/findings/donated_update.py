# The array is donated already.
# silent: missed_donation

# %% setup
import jax, jax.numpy as jnp
w = jnp.ones((600, 600))

# %% cell -d w
w = w - 0.1 * w
