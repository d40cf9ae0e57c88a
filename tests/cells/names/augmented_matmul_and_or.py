# The rarer augmented operators work on arrays.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
m = jnp.eye(2) * 2
bits = jnp.asarray([1, 2])
flag = jnp.asarray([True, False])

# %% cell
m @= m
bits |= 4
bits <<= 1
bits ^= 3
flag &= True
m //= 3
m %= 5

# %% change
m = jnp.ones((2, 2))
