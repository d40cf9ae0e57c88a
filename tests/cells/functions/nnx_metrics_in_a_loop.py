# An epoch with Flax NNX metrics.
# needs: flax optax

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
from flax import nnx
import optax
model = nnx.Linear(3, 2, rngs=nnx.Rngs(0))
opt = nnx.Optimizer(model, optax.adam(0.1), wrt=nnx.Param)
metrics = nnx.MultiMetric(loss=nnx.metrics.Average("loss"), accuracy=nnx.metrics.Accuracy())
data, labels = jnp.ones((4, 3)), jnp.array([0, 1, 0, 1])

# %% cell
def loss_fn(model, v, t):
    logits = model(v)
    return optax.softmax_cross_entropy_with_integer_labels(logits, t).mean(), logits

def train_step(model, opt, metrics, v, t):
    (loss, logits), grads = nnx.value_and_grad(loss_fn, has_aux=True)(model, v, t)
    metrics.update(loss=loss, logits=logits, labels=t)
    opt.update(model, grads)

for _ in range(3):
    train_step(model, opt, metrics, data, labels)
found = {name: round(float(value), 4) for name, value in metrics.compute().items()}
metrics.reset()
kernel = model.kernel[...]

# %% change
data = data * 0.5
