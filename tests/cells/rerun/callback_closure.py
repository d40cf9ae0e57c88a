# A callback made in the cell from a lambda that reads a global.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
k = 2

# %% cell
y = jax.pure_callback(lambda v: np.asarray(v) * k, jax.ShapeDtypeStruct((3,), jnp.float32), x)

# %% change
k = 50
