# Numbers drawn by NumPy are drawn once for every run.
# compiles: 1 1

# %% setup
import jax.numpy as jnp
import numpy as np
np.random.seed(0)
x = jnp.zeros(3)

# %% cell
noise = np.random.normal(size=3)
y = x + noise
