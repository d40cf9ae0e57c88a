# `yield` outside a function.
# expect: refused "yield"
# line: 3

# %% setup
import jax.numpy as jnp
x = jnp.ones(3)

# %% cell
y = x * 2
yield y

# %% after
w = x * 2
