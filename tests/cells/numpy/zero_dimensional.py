# An array without dimensions is an array.
# differs: y numpy-becomes-array
# compiles: 1 0

# %% setup
import jax.numpy as jnp
import numpy as np
a = np.array(3.0)
x = jnp.arange(3.0)

# %% cell
y = a * 2
z = x + a
shape = a.shape

# %% change
a = np.array(5.0)
