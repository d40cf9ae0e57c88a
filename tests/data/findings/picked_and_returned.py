# The picked elements are a result.
# silent: masked_reduction

# %% setup
import jax.numpy as jnp
x = jnp.linspace(-1.0, 1.0, 4096)

# %% cell
picked = x[jnp.nonzero(x > 0, size=4096, fill_value=0)[0]]
y = jnp.sum(picked)
