# One model under two names and in a list.
# needs: flax
# compiles: 1 0

# %% setup
import jax.numpy as jnp
from flax import nnx
model = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
alias = model
models = [model]
x = jnp.ones((1, 2))

# %% cell
model.bias.set_value(model.bias.get_value() + 1)
y = alias(x) + models[0](x)
same = alias is model and models[0] is model

# %% change
x = x + 1
