# An attention layer has a module `value`; its parameters are not those of the layer itself.
# needs: flax

# %% setup
import jax.numpy as jnp
from flax import nnx

class Layer(nnx.Module):
    def __init__(self, rngs):
        self.kernel = nnx.Param(jnp.full((3, 3), 2.0))
        self.value = nnx.Linear(3, 3, use_bias=False, rngs=rngs)

    def __call__(self, v):
        return self.value(v @ self.kernel)

layer = Layer(nnx.Rngs(0))
data = jnp.ones((4, 3))

# %% cell --no-options
def loss(m, v):
    return (m(v) ** 2).mean()

y, g = nnx.value_and_grad(loss)(layer, data)
z = loss(layer, data)

# %% change
data = data * 2
