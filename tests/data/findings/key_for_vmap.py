# Each example has a key of its own.
# silent: key_reuse

# %% setup
import jax, jax.numpy as jnp
key = jax.random.key(0)

# %% cell
y = jax.vmap(jax.random.normal)(jax.random.split(key, 3))
