# The loop that calls a helper too often is reported, and not the few layers of the helper.
# fires: unrolled_loop line 2

# %% helper
def network(weights, h):
    for w in weights:
        h = jax.nn.softmax(jnp.tanh(h @ w), axis=-1)
    return h + jnp.sin(h)

# %% setup
import jax
import jax.numpy as jnp
weights = [jnp.eye(4) + i for i in range(2)]
h = jnp.ones((3, 4))

# %% cell
for step in range(20):
    h = network(weights, h)
