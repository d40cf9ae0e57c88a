# A cast of an input of the cell.
# fires: float64_disabled line 2

# %% setup
import jax.numpy as jnp
x = jnp.arange(8.0)

# %% cell
y = x.astype("float64") * 2
