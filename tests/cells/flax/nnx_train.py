# A Flax NNX model trains over several runs: it comes back updated and is the same object.
# needs: flax optax
# compiles: 1 0

# %% setup
import jax
import jax.numpy as jnp
import optax
from flax import nnx
model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(0.1), wrt=nnx.Param)
x, t = jnp.arange(6.0).reshape(3, 2), jnp.ones((3, 1))

# %% cell
loss, grads = nnx.value_and_grad(lambda m: ((m(x) - t) ** 2).mean())(model)
optimizer.update(model, grads)
loss

# %% change
x = x + 1

# %% after
prediction = model(x)
steps = int(optimizer.step.get_value())
