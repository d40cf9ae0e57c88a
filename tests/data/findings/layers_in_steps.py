# The layers of a helper are few in each of the calls that a loop makes, and many in all of them.
# silent: unrolled_loop

# %% helper
def network(weights, h):
    for w in weights:
        h = jax.nn.softmax(jnp.tanh(h @ w), axis=-1)
    return h

# %% setup
import jax
import jax.numpy as jnp
weights = [jnp.eye(4) + i for i in range(2)]
h = jnp.ones((3, 4))

# %% cell
for step in range(10):
    h = network(weights, h)
