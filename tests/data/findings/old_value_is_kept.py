# The old value has a second name, so it cannot be donated.
# silent: missed_donation

# %% setup
import jax, jax.numpy as jnp
w = jnp.ones((600, 600))

# %% cell
old = w
w = w - 0.1 * w
