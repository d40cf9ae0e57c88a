# Discrete draws.
# compiles: 1 0

# %% setup
import jax
import jax.numpy as jnp
key = jax.random.key(3)
x = jnp.arange(5.0)

# %% cell
a, b, key = jax.random.split(key, 3)
picked = jax.random.choice(a, x, (3,), replace=False)
mixed = jax.random.permutation(b, x)
