# A product reads its operands until it is complete: donating them saves nothing.
# silent: missed_donation

# %% setup
import jax.numpy as jnp
w = jnp.ones((600, 600))

# %% cell
w = w @ w
