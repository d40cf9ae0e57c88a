# A training step that updates a model and an optimizer in a loop.
# needs: flax optax
# compiles: 1 0

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
from flax import nnx
import optax
model = nnx.Linear(3, 2, rngs=nnx.Rngs(0))
opt = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
data, t = jnp.ones((4, 3)), jnp.ones((4, 2))

# %% cell
def train_step(model, opt, x, t):
    loss, g = nnx.value_and_grad(lambda m: ((m(x) - t) ** 2).mean())(model)
    opt.update(model, g)
    return loss

losses = [float(train_step(model, opt, data, t)) for _ in range(3)]
kernel = model.kernel[...]

# %% change
data = data * 0.5

# %% after
y = model(data)
