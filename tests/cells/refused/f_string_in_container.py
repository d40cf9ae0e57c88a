# The same in a list, in a dictionary's key, and in another string.
# expect: refused "trac"

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
report = {"lines": ["header", ("row: " + str(x.sum())).upper()]}

# %% after
z = x + 1
