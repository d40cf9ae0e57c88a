# A temporary that the cell deletes does not exist afterwards, even if it existed before.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
temp = "left over"

# %% cell
temp = x * 2
y = temp + 1
del temp

# %% change
x = x + 1
