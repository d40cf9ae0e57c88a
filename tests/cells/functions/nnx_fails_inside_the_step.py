# A step that fails after it changed the model: the model keeps the change, as in plain Python.
# needs: flax
# expect: fails TypeError "incompatible shapes"

# %% setup
import jax.numpy as jnp
from flax import nnx
model = nnx.BatchNorm(3, rngs=nnx.Rngs(0))
data = jnp.arange(12.0).reshape(4, 3)

# %% cell
def evaluate(model, x):
    y = model(x)
    return y + jnp.ones((7, 7))

first = evaluate(model, data)

# %% change
data = data + 1

# %% after
y, mean = model(data), model.mean[...]
