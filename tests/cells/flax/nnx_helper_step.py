# The same with the step in a helper of another cell.
# needs: flax optax
# compiles: 1 0

# %% setup
import jax.numpy as jnp
import optax
from flax import nnx

class Net(nnx.Module):
    def __init__(self, rngs):
        self.a = nnx.Linear(2, 3, rngs=rngs)
        self.b = nnx.Linear(3, 1, rngs=rngs)

    def __call__(self, v):
        return self.b(nnx.relu(self.a(v)))

def train_step(net, opt, v, t):
    loss, grads = nnx.value_and_grad(lambda m: ((m(v) - t) ** 2).mean())(net)
    opt.update(net, grads)
    return loss

net = Net(nnx.Rngs(0))
opt = nnx.Optimizer(net, optax.sgd(0.1, momentum=0.9), wrt=nnx.Param)
x, t = jnp.ones((4, 2)), jnp.zeros((4, 1))

# %% cell
loss = train_step(net, opt, x, t)
