# A scan that draws from a key of the code around it.
# fires: key_reuse line 4

# %% setup
import jax, jax.numpy as jnp
key, x = jax.random.key(0), jnp.zeros(3)

# %% cell
def path(key, x):
    def walk(x, _):
        return x + jax.random.normal(key, (3,)), None
    return jax.lax.scan(walk, x, length=5)[0]

y = path(key, x)
