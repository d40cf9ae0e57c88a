# A table that is indexed, and a one-hot matrix in a loss.
# silent: one_hot_matmul

# %% setup
import jax, jax.numpy as jnp
ids, table = jnp.arange(64), jnp.ones((1000, 16))

# %% cell
a = table[ids]
b = jnp.sum(jax.nn.one_hot(ids, 1000) * 0.5)
