# A cell that replaces a layer in a function and fails: running it again replaces it again.
# needs: flax
# expect: fails ValueError "stop"

# %% setup
import jax.numpy as jnp
from flax import nnx

class Wrapped(nnx.Module):
    def __init__(self, inner):
        self.inner, self.scale = inner, nnx.Param(jnp.array(0.5))
    def __call__(self, x):
        return self.inner(x) * self.scale[...]

class Net(nnx.Module):
    def __init__(self, rngs):
        self.layer = nnx.Linear(2, 2, rngs=rngs)
    def __call__(self, x):
        return self.layer(x)

net, x = Net(nnx.Rngs(0)), jnp.ones((1, 2))

# %% cell
def wrap(net):
    net.layer = Wrapped(net.layer)

def run(net, x):
    return net(x).sum()

wrap(net)
before = run(net, x)
raise ValueError("stop")

# %% after
y = net(x)
