# NumPy on constants and on shapes inside a function.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def f(v):
    n = int(np.prod(v.shape))
    table = np.arange(n, dtype=np.float32).reshape(v.shape)
    return v * table + np.pi

y = f(x)

# %% change
x = jnp.ones((2, 2))
