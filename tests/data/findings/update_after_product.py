# The last operation can write over the array.
# fires: missed_donation line 2

# %% setup
import jax.numpy as jnp
w = jnp.ones((600, 600))

# %% cell
w = w * jnp.sum(w @ w)
