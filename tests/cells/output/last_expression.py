# The last expression is the cell's `Out`.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
y = x * 2
y + 1

# %% change
x = x + 1

# %% after
_ * 2
