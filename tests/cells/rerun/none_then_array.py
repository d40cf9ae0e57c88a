# An optional input, absent first and given later.
# compiles: 1 1

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
bias = None

# %% cell
y = x if bias is None else x + bias
y = y * 2

# %% change
bias = jnp.ones(3)
