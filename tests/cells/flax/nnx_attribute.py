# A static attribute of a model set by the cell.
# needs: flax
# expect: same or refused "attribute|in place|trac"

# %% setup
import jax.numpy as jnp
from flax import nnx

class Counter(nnx.Module):
    def __init__(self):
        self.w = nnx.Param(jnp.ones(2))
        self.calls = 0

counter = Counter()
x = jnp.arange(2.0)

# %% cell
counter.calls += 1
y = x * counter.w.get_value()

# %% change
x = x + 1

# %% after
z = x + 1
