# A Python loop over a hundred terms is a hundred copies.
# fires: unrolled_loop line 3

# %% setup
import jax.numpy as jnp
x = jnp.arange(8.0)

# %% cell
s = x
for k in range(100):
    s = jnp.sin(s) + x
s
