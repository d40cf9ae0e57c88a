# The gradients of a model with layers in layers, taken by NNX, are its own state.
# needs: flax

# %% setup
import jax.numpy as jnp
from flax import nnx

class Net(nnx.Module):
    def __init__(self, rngs):
        self.inner = nnx.Linear(3, 2, rngs=rngs)
        self.calls = nnx.Variable(jnp.zeros(()))

    def __call__(self, v):
        self.calls[...] += 1
        return self.inner(v)

net = Net(nnx.Rngs(0))
data = jnp.ones((4, 3))

# %% cell --no-options
def loss(m, v):
    y = m(v)
    return (y**2).mean(), y

g, y = nnx.grad(loss, has_aux=True)(net, data)
h, _ = nnx.grad(loss, argnums=1, has_aux=True)(net, data)

# %% change
data = data * 2

# %% after
kernel, calls = g["inner"]["kernel"][...], net.calls[...]
