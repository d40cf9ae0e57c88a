# A helper's global array that did not change compiles nothing on the second run.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
table = jnp.asarray([1.0, 2.0, 4.0])

def helper(v):
    return v * table

# %% cell
y = helper(x)

# %% change
x = x + 1
