# A question mark in a string is no request for help.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
question = "why?"
y = x * 2  # really?

# %% change
x = x + 1
