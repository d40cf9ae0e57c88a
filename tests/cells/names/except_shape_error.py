# An error of JAX that the cell expects and handles takes the same path as in plain Python.
# compiles: 1 1

# %% setup
import jax.numpy as jnp
a = jnp.ones(3)
b = jnp.ones(4)

# %% cell
try:
    y = a + b
except TypeError:
    y = a * 10

# %% change
b = jnp.ones(3)
