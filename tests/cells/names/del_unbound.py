# Deleting a name that is not bound is the NameError of plain Python.
# expect: raises NameError "nowhere"

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
y = x * 2
del nowhere

# %% after
z = x + 1
