# A method of an object that the cell made around a traced value.
# expect: refused "trac"

# %% setup
import jax.numpy as jnp

class Box:
    def __init__(self, v):
        self.v = v

    def get(self):
        return self.v

x = jnp.arange(3.0)

# %% cell
get = Box(x * 2).get

# %% after
z = x + 1
