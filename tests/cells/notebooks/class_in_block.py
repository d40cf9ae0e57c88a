# A class that is defined inside an `if` runs in block form and keeps its meaning.

# %% setup
import jax.numpy as jnp
x = jnp.ones(2)

# %% cell
if True:
    class Box:
        count = 0
        def __init__(self, v):
            self.v = v
            Box.count += 1
        def __add__(self, other):
            return Box(self.v + other.v)
    def unwrap(box):
        return box.v
y = unwrap(Box(x) + Box(x * 2))
made = Box.count

# %% change
x = x * 3
