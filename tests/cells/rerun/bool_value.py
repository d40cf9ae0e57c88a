# A Python bool decides a branch.
# compiles: 1 1

# %% setup
import jax.numpy as jnp
x = jnp.arange(8.0)
training = True

# %% cell
y = x * 2 if training else x + 2

# %% change
training = False
