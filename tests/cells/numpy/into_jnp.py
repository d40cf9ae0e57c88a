# jnp functions of NumPy arrays give the same as in plain Python.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
import numpy as np
a = np.linspace(0.0, 1.0, 4)
x = jnp.arange(4.0)

# %% cell
y = jnp.sin(a) + x
z = a * x

# %% change
a = a + 1
