# An exception after several names were bound.
# expect: raises ValueError "stop here"
# line: 5

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
y = "old"

# %% cell
y = x * 2
new = y + 1
x = new
raise ValueError("stop here")

# %% after
z = x + 1
