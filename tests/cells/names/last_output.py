# `_` is the last output, an input like any other.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
x * 10

# %% cell
y = _ + x

# %% change
x = x + 1
x * 100
