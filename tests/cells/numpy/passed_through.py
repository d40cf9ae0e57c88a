# Another name for a NumPy input has its values.
# may differ: b numpy-becomes-array
# may differ: c* numpy-becomes-array

# %% setup
import jax.numpy as jnp
import numpy as np
a = np.arange(3.0, dtype=np.float32)
x = jnp.ones(3)

# %% cell
b = a
c = [a, x]
y = x + a

# %% change
a = a + 1
