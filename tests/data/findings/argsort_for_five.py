# An argsort of which five are used, the largest first.
# fires: full_sort line 3

# %% setup
import jax.numpy as jnp
x = jnp.ones((4, 2048))

# %% cell
def best(x):
    order = jnp.argsort(x, axis=-1)
    return order[:, ::-1][:, :5]

y = best(x)
