# A typed key is split and used; it comes back as a typed key.
# compiles: 1 0

# %% setup
import jax
key = jax.random.key(0)

# %% cell
key, sub = jax.random.split(key)
noise = jax.random.normal(sub, (3,))
noise
