# A large array replaced by its update could give its memory.
# fires: missed_donation line 3

# %% setup
import jax, jax.numpy as jnp
w = jnp.ones((600, 600))
g = jnp.ones((600, 600))

# %% cell
lr = 0.1
w = w - lr * g
