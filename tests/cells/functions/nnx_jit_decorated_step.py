# A step decorated with nnx.jit that updates a model of an earlier cell.
# needs: flax optax

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
from flax import nnx
import optax
model = nnx.Linear(3, 2, rngs=nnx.Rngs(0))
opt = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)

# %% cell
@nnx.jit
def step(model, opt, v):
    loss, grads = nnx.value_and_grad(lambda m: (m(v) ** 2).mean())(model)
    opt.update(model, grads)
    return loss

losses = [round(float(step(model, opt, x)), 5) for _ in range(3)]
kernel = model.kernel[...]
del step

# %% change
x = x + 1
