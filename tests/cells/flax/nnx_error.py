# A cell that fails after it changed a model leaves the model as it was.
# needs: flax
# expect: raises ZeroDivisionError "division"

# %% setup
import jax.numpy as jnp
from flax import nnx
model = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
x = jnp.ones((1, 2))

# %% cell
model.bias.set_value(model.bias.get_value() + x.sum())
model.kernel.set_value(model.kernel.get_value() * 2)
1 / 0

# %% after
y = model(x)
