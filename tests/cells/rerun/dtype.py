# A new dtype compiles a new program.
# compiles: 1 1

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
y = x + x

# %% change
x = jnp.arange(3)
