# `+=` on a JAX array binds a new array; another name for the old one keeps it.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
old = x

# %% cell
x += 1
x *= 2
x **= 2
