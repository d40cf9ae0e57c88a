# A metric object accumulates.
# needs: flax
# compiles: 1 0

# %% setup
import jax.numpy as jnp
from flax import nnx
metric = nnx.metrics.Average("loss")
x = jnp.arange(3.0)

# %% cell
metric.update(loss=x.sum())
mean = metric.compute()

# %% change
x = x + 1
