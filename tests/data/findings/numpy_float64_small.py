# A few numbers of NumPy's default type are not a request for 64 bits.
# silent: float64_disabled

# %% setup
import numpy as np, jax.numpy as jnp
a = np.linspace(0.0, 1.0, 5)

# %% cell
y = jnp.sin(a)
