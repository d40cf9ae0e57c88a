# A key that two calls of a function take: the calls are the line, not the draw.
# fires: key_reuse line 6

# %% setup
import jax, jax.numpy as jnp
key, x = jax.random.key(0), jnp.ones(8)

# %% cell
def drop(x, key):
    return x * jax.random.bernoulli(key, 0.5, x.shape)

def layers(x, key):
    return drop(jnp.sin(drop(x, key)), key)

y = layers(x, key)
