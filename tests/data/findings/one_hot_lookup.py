# An embedding by a product with a one-hot matrix.
# fires: one_hot_matmul line 2

# %% setup
import jax, jax.numpy as jnp
ids, table = jnp.arange(64), jnp.ones((1000, 16))

# %% cell
y = jax.nn.one_hot(ids, 1000) @ table
