# A model that a function reads as a global, updated between calls.
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
data, t = jnp.ones((4, 3)), jnp.ones((4, 2))

# %% cell
def predict(v):
    return model(v)

a = predict(data)
model.kernel[...] = model.kernel[...] * 2
b = predict(data)
