# A model class of the cell: its instance is called, and keeps its state.
# needs: flax

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
from flax import nnx

# %% cell
class Counter(nnx.Module):
    def __init__(self):
        self.calls = nnx.Variable(jnp.float32(0.0))
        self.weight = nnx.Param(jnp.ones(3))

    def __call__(self, v):
        self.calls[...] = self.calls[...] + 1.0
        return v @ self.weight[...]

counter = Counter()
ys = [counter(x) for _ in range(3)]
calls = counter.calls[...]

# %% change
x = x + 1
