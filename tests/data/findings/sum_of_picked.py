# The positive elements, squared and summed.
# fires: masked_reduction line 2

# %% setup
import jax.numpy as jnp
x = jnp.linspace(-1.0, 1.0, 4096)

# %% cell
y = jnp.sum(x[jnp.nonzero(x > 0, size=4096, fill_value=0)[0]] ** 2)
