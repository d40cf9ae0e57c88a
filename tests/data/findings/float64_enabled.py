# With --x64 the request is granted.
# silent: float64_disabled

# %% setup
import numpy as np, jax.numpy as jnp
a = np.linspace(0.0, 1.0, 5)

# %% cell --x64
y = jnp.sin(a) + jnp.zeros(5, dtype=jnp.float64)
