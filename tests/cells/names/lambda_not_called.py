# A lambda that the cell only defines leaves the names it reads as they were.
# differs: z float-becomes-array

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
scale = 2.0

# %% cell
f = lambda v: v * scale
z = scale * 1.5

# %% change
scale = 5.0

# %% after
y = f(x)
