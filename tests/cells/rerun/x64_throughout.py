# Under 64-bit types floats and NumPy arrays keep their width.
# differs: lr float-becomes-array
# differs: b numpy-becomes-array
# compiles: 1 0

# %% setup
import jax
jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
a = np.linspace(0, 1, 3)
lr = 0.1

# %% cell
y = x * lr + a
b = a / 3
lr = lr / 3

# %% change
x = x + 1
