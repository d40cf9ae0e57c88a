# NumPy's default precision is not what JAX computes with.
# fires: float64_disabled line 2

# %% setup
import numpy as np, jax.numpy as jnp
a = np.linspace(0.0, 1.0, 20_000)

# %% cell
y = jnp.sin(a)
