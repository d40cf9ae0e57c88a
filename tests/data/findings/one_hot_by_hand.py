# The same matrix, compared by hand.
# fires: one_hot_matmul line 4

# %% setup
import jax, jax.numpy as jnp
ids, table = jnp.arange(64), jnp.ones((1000, 16))

# %% cell
def embed(ids, table):
    chosen = (ids[:, None] == jnp.arange(1000)).astype(jnp.float32)
    return jnp.dot(chosen, table)

y = embed(ids, table)
