# A cell in block form that replaces a layer and fails leaves the layer as it was.
# needs: flax
# expect: raises ValueError "stop"

# %% setup
import jax.numpy as jnp
from flax import nnx

class Net(nnx.Module):
    def __init__(self, rngs):
        self.layer = nnx.Linear(2, 2, rngs=rngs)
    def __call__(self, x):
        return self.layer(x)

net, x = Net(nnx.Rngs(0)), jnp.ones((1, 2))

# %% cell
net.layer = nnx.Linear(2, 2, rngs=nnx.Rngs(7))
net.extra = nnx.Param(x * 2)
y = net(x)
raise ValueError("stop")

# %% after
y, names = net(x), sorted(vars(net))
