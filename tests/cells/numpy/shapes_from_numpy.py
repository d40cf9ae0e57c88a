# NumPy's functions of shapes are static.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
import numpy as np
x = jnp.arange(6.0).reshape(2, 3)

# %% cell
n = np.prod(x.shape)
y = x.reshape(n)
z = jnp.zeros(np.array(x.shape) + 1) + y.sum()
dims = np.shape(x), np.ndim(x)

# %% change
x = x + 1
