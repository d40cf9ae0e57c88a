# The timed runs of a step, after the cell, leave a model as its loop left it.
# needs: flax optax

# %% setup
import jax
import jax.numpy as jnp
from flax import nnx
import optax
x = jnp.arange(3.0)
model = nnx.Sequential(nnx.Linear(3, 4, rngs=nnx.Rngs(0)), nnx.Linear(4, 2, rngs=nnx.Rngs(1)))
opt = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
data, t = jnp.ones((4, 3)), jnp.ones((4, 2))

# %% cell --no-options
def train_step(model, opt, x, t):
    loss, g = nnx.value_and_grad(lambda m: ((m(x) - t) ** 2).mean())(model)
    opt.update(model, g)
    return loss, {"gradients": g, "made": {"one": nnx.Param(x * 2)}}

for _ in range(5):
    loss, out = train_step(model, opt, data, t)

# %% change
data = data * 0.5

# %% after
y = model(data)
kernel, made = out["gradients"]["layers"][0]["kernel"][...], out["made"]["one"][...]
