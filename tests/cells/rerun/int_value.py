# A Python int is static: a new value, a new program, the right result.
# compiles: 1 1

# %% setup
import jax.numpy as jnp
x = jnp.arange(8.0)
n = 3

# %% cell
y = x[:n] * n

# %% change
n = 5
