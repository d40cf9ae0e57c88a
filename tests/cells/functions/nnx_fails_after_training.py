# A cell that fails after training steps leaves the model that plain Python leaves.
# needs: flax optax
# expect: fails ZeroDivisionError "division"

# %% setup
import jax.numpy as jnp
import optax
from flax import nnx
model = nnx.Linear(3, 2, rngs=nnx.Rngs(0))
opt = nnx.Optimizer(model, optax.adam(0.1), wrt=nnx.Param)
data, t, losses = jnp.ones((4, 3)), jnp.ones((4, 2)), []

# %% cell
def train_step(model, opt, x, t):
    loss, g = nnx.value_and_grad(lambda m: ((m(x) - t) ** 2).mean())(model)
    opt.update(model, g)
    return loss

for step in range(3):
    losses.append(float(train_step(model, opt, data, t)))
1 / 0

# %% change
losses.append(float(train_step(model, opt, data, t)))
data = data * 0.5

# %% after
losses += [float(train_step(model, opt, data, t)) for _ in range(3)]
y = model(data)
