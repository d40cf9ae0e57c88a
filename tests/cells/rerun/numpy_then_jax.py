# A NumPy array and a JAX array of the same dtype are one signature.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
import numpy as np
x = np.ones(3, np.float32)

# %% cell
y = jnp.sin(x)

# %% change
x = jnp.arange(3.0)
