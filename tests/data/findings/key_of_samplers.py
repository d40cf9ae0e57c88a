# Library functions that split keys inside.
# silent: key_reuse

# %% setup
import jax, jax.numpy as jnp
key = jax.random.key(0)

# %% cell
one, two, three = jax.random.split(key, 3)
a = jax.random.permutation(one, 5)
b = jax.random.choice(two, 5, (3,), replace=False)
c = jax.random.t(three, 3.0)
