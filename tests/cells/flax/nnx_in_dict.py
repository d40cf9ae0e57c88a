# A model inside a dictionary trains too.
# needs: flax optax
# compiles: 1 0

# %% setup
import jax.numpy as jnp
import optax
from flax import nnx
model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
state = {"model": model, "opt": nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param), "step": 0}
x = jnp.ones((3, 2))

# %% cell
loss, grads = nnx.value_and_grad(lambda m: (m(x) ** 2).mean())(state["model"])
state["opt"].update(state["model"], grads)
