# Methods, class methods and static methods of an object of the cell.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
class Layer:
    scale = 2
    def __init__(self, w): self.w = w
    def __call__(self, v): return v * self.w
    def forward(self, v): return self(v) + self.scale
    def grow(self): self.w = self.w + 1
    @classmethod
    def make(cls, w): return cls(w)
    @staticmethod
    def double(v): return v * 2

layer = Layer.make(x)
rows = [layer(x), layer.forward(x), Layer.double(x)]
layer.grow()
rows += [layer(x), layer.forward(x)]
Layer.scale = 5
rows.append(layer.forward(x))

# %% change
x = x + 1
