# A quiet report changes no result.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(8.0)

# %% cell -q
y = x * 2
y.sum()

# %% change
x = x + 1
