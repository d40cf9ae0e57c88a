# `-s` makes an array static by value: its new value is seen, though the object is the same.
# compiles: 1 1

# %% setup
import jax.numpy as jnp
import numpy as np
x = jnp.arange(6.0)
index = np.array([0, 2, 4])

# %% cell -s index
y = x[index] * int(index[1])

# %% change
index[1] = 3
