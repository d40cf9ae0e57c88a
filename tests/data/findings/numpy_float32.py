# NumPy arrays of 32 bits are what they were requested to be.
# silent: float64_disabled

# %% setup
import numpy as np, jax.numpy as jnp
a = np.linspace(0.0, 1.0, 5, dtype=np.float32)

# %% cell
y = jnp.sin(a)
