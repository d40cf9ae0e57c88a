# A dropout mask that a loss and its gradient share.
# silent: key_reuse

# %% setup
import jax, jax.numpy as jnp
key, x = jax.random.key(0), jnp.ones(8)

# %% cell
def both(x, key):
    def loss(x):
        return jnp.sum((x * jax.random.bernoulli(key, 0.5, (8,))) ** 2)
    return loss(x), jax.grad(loss)(x)

y = both(x, key)
