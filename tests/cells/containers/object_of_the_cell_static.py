# An object that the cell makes from static values.
# compiles: 1 0

# %% setup
import jax.numpy as jnp

class Box:
    def __init__(self, v):
        self.v = v

x = jnp.arange(3.0)

# %% cell
box = Box(x.shape)
box.more = [box.v, "label"]
y = x * box.v[0]

# %% change
x = x + 1
