# The old kind of key is an array of integers.
# compiles: 1 0

# %% setup
import jax
key = jax.random.PRNGKey(0)

# %% cell
key, sub = jax.random.split(key)
noise = jax.random.uniform(sub, (3,))
