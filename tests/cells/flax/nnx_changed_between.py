# A model whose parameters were set between the runs.
# needs: flax
# compiles: 1 0

# %% setup
import jax.numpy as jnp
from flax import nnx
model = nnx.Linear(2, 2, rngs=nnx.Rngs(1))
x = jnp.ones((1, 2))

# %% cell
y = model(x)

# %% change
model.kernel.set_value(jnp.eye(2))
