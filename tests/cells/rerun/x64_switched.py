# Turning on 64-bit types between the runs gives 64-bit results.
# compiles: 1 1

# %% setup
import jax
import jax.numpy as jnp
x = jnp.arange(3)

# %% cell
y = x.astype(float) + jnp.ones(3)

# %% change
jax.config.update("jax_enable_x64", True)
