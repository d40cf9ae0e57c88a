# A query of a type does not request an array of it.
# silent: float64_disabled

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
tiny = float(jnp.finfo(jnp.float64).tiny)
wide = x.dtype == jnp.float64
y = x * 2
