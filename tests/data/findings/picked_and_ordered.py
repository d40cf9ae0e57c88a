# The order of the picked elements counts.
# silent: masked_reduction

# %% setup
import jax.numpy as jnp
x = jnp.linspace(-1.0, 1.0, 4096)

# %% cell
picked = x[jnp.nonzero(x > 0, size=4096, fill_value=0)[0]]
y = jnp.sum(jnp.diff(picked) ** 2)
picked = None
