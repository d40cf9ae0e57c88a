# A last expression that is a function is that function.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

def helper(v):
    return v + 1

# %% cell
y = helper(x)
helper

# %% change
x = x + 1
