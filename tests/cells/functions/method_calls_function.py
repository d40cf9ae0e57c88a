# A function called by a method of the cell's class.

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
def helper(v):
    return v + 1

class Model:
    def __call__(self, v):
        return helper(v) * 2

y = Model()(x)

# %% change
x = x + 1
