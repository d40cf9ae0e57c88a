# Without a gradient the value is discarded, and that is all.
# silent: nan_gradient

# %% setup
import jax.numpy as jnp
x = jnp.arange(8.0)

# %% cell
y = jnp.where(x > 0, jnp.sqrt(x), 0.0)
