# A traced value put on a plain object by its own method.
# expect: refused "in place"

# %% setup
import jax.numpy as jnp

class Average:
    def __init__(self):
        self.total, self.n = 0.0, 0

    def add(self, v):
        self.total = self.total + v
        self.n += 1

average = Average()
x = jnp.arange(3.0)

# %% cell
average.add(x.sum())

# %% after
average.add(1.0)
