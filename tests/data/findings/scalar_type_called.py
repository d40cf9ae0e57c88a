# The type itself is called.
# fires: float64_disabled line 2

# %% setup
import jax.numpy as jnp
x = jnp.arange(8.0)

# %% cell
y = jnp.float64(x) * 2
