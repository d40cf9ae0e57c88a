# Moving data is not work that XLA could fold.
# silent: constant_folded

# %% setup
import jax.numpy as jnp
x = jnp.arange(6.0)

# %% cell
y = x.reshape(2, 3).T
