# The same by name.
# fires: float64_disabled line 2

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
y = x + jnp.ones(3, dtype="float64")
