# An object that is called, with state of its own.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
class Layer:
    def __init__(self, w): self.w, self.calls = w, 0
    def __call__(self, v):
        self.calls += 1
        return v * self.w

layer = Layer(x + 1)
rows = [layer(x), layer(x * 2)]
calls = layer.calls
w = layer.w
del layer, Layer

# %% change
x = x + 1
