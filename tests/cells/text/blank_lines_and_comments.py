# Blank lines and comments around the code change nothing.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell


# first a comment

y = x * 2   # then code


y + 1

# last a comment

# %% change
x = x + 1
