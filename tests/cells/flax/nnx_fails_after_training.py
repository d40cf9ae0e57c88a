# A cell in block form that fails after a training step leaves model and optimizer as before.
# needs: flax optax
# expect: raises ZeroDivisionError "division"

# %% setup
import jax.numpy as jnp
import optax
from flax import nnx
model = nnx.Linear(3, 2, rngs=nnx.Rngs(0))
opt = nnx.Optimizer(model, optax.adam(0.1), wrt=nnx.Param)
data, t = jnp.ones((4, 3)), jnp.ones((4, 2))

# %% cell
for _ in range(2):
    loss, g = nnx.value_and_grad(lambda m: ((m(data) - t) ** 2).mean())(model)
    opt.update(model, g)
1 / 0

# %% change
loss, g = nnx.value_and_grad(lambda m: ((m(data) - t) ** 2).mean())(model)
opt.update(model, g)

# %% after
y, count = model(data), opt.step[...]
