# A comparison of data is no one-hot matrix.
# silent: one_hot_matmul

# %% setup
import jax.numpy as jnp
ids, other, table = jnp.arange(64), jnp.arange(1000) * 2, jnp.ones((1000, 16))

# %% cell
y = (ids[:, None] == other).astype(jnp.float32) @ table
