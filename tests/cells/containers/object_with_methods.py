# Methods and properties of a plain object read its arrays.

# %% setup
import jax.numpy as jnp

class Layer:
    def __init__(self, w):
        self.w = w

    @property
    def norm(self):
        return jnp.sqrt((self.w ** 2).sum())

    def __call__(self, v):
        return v * self.w

layer = Layer(jnp.arange(3.0))
x = jnp.ones(3)

# %% cell
y = layer(x) / layer.norm
apply = layer.__call__
same = layer

# %% change
layer.w = jnp.ones(3) * 4

# %% after
z = apply(x)
