# A plain object that holds a traced value, inside a list.
# expect: same or refused "trac"

# %% setup
import jax.numpy as jnp

class Box:
    def __init__(self, v):
        self.v = v

x = jnp.ones(3)

# %% cell
boxes = [Box(x * i) for i in range(2)]

# %% change
x = x + 1

# %% after
z = x + 1
