# Work without floating-point operations is work.
# silent: constant_folded

# %% setup
import jax.numpy as jnp
x = jnp.arange(6)
i = jnp.array([2, 0, 1])

# %% cell
y = x[i]
