# A small array is not worth donating.
# silent: missed_donation

# %% setup
import jax, jax.numpy as jnp
w = jnp.ones((60, 60))

# %% cell
w = w - 0.1 * w
