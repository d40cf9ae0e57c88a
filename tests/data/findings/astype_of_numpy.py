# NumPy's own arrays may be float64, and a literal is no type.
# silent: float64_disabled

# %% setup
import jax.numpy as jnp, numpy as np
x = jnp.arange(8.0)

# %% cell
table = np.ones(8).astype(np.float64)
y = x.astype(float) + table.sum()
