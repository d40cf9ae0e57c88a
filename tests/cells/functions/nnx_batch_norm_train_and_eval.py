# Flax NNX: batch statistics and dropout, train and eval mode.
# needs: flax

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
from flax import nnx
data = jnp.stack([x, x + 1, x * 3])

# %% cell
class Net(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(3, 4, rngs=rngs)
        self.norm = nnx.BatchNorm(4, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)

    def __call__(self, v): return self.drop(self.norm(self.linear(v)))

net = Net(nnx.Rngs(0))

def forward(net, v): return net(v)

net.train()
a = forward(net, data)
b = forward(net, data)
net.eval()
c = forward(net, data)
mean = net.norm.mean[...]
del Net, net

# %% change
data = data + 1
