# The same key of an array of keys.
# fires: key_reuse line 4

# %% setup
import jax
key = jax.random.key(0)

# %% cell
keys = jax.random.split(key, 3)
a = jax.random.normal(keys[0], (3,))
b = jax.random.normal(keys[0], (3,))
c = jax.random.normal(keys[2], (3,))
