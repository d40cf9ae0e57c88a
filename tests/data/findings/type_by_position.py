# A type given by its name, in the second position.
# fires: float64_disabled line 2

# %% setup
import jax.numpy as jnp
x = jnp.arange(8.0)

# %% cell
y = x + jnp.zeros(8, "float64")
