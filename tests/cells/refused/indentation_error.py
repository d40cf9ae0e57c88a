# An indentation that does not fit.
# expect: raises IndentationError

# %% setup
import jax.numpy as jnp
x = jnp.ones(3)

# %% cell
if True:
y = x * 2

# %% after
w = x * 2
