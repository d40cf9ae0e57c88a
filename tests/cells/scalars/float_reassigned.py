# A traced float that is reassigned comes back as an array; from then on it is one.
# differs: lr float-becomes-array
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
lr = 0.5

# %% cell
y = x * lr
lr = lr * 0.9
