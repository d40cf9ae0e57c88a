# A float that is only read stays a float.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
lr = 0.5

# %% cell
y = x * lr

# %% change
lr = 0.25
