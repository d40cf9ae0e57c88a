# A name deleted earlier in the cell.
# expect: raises NameError "y"

# %% setup
import jax.numpy as jnp
x = jnp.ones(3)

# %% cell
y = x * 2
del y
z = y + 1

# %% after
w = x * 2
