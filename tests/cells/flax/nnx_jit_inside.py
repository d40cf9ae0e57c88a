# An nnx.jit function of another cell, called on a model.
# needs: flax
# compiles: 1 0

# %% setup
import jax.numpy as jnp
from flax import nnx

@nnx.jit
def double(m):
    m.kernel.set_value(m.kernel.get_value() * 2)
    return m.kernel.get_value().sum()

model = nnx.Linear(2, 2, rngs=nnx.Rngs(0))

# %% cell
total = double(model)
