# A class is defined as usual; its methods stay plain.

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
class Layer:
    def __init__(self, w):
        self.w = w

    def __call__(self, v):
        return v * self.w

layer = Layer(x)
y = layer(x)

# %% change
x = x + 1

# %% after
z = layer(y)
