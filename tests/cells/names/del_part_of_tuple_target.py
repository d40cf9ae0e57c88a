# `del a, (b, c)` deletes all three names.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
a, b, c = x, x + 1, x + 2
y = a + b + c
del a, (b, c)

# %% change
x = x * 10
