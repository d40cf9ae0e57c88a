# A model that is only called does not change.
# needs: flax
# compiles: 1 0

# %% setup
import jax.numpy as jnp
from flax import nnx
model = nnx.Linear(2, 2, rngs=nnx.Rngs(1))
x = jnp.ones((1, 2))

# %% cell
y = model(x)
same = model
kernel = model.kernel.get_value() * 2

# %% change
x = x * 2
