# Flax linen with mutable batch statistics and dropout.
# needs: flax

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
import flax.linen as nn
data = jnp.stack([x, x + 1, x * 2])

# %% cell
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train):
        v = nn.Dense(4)(v)
        v = nn.BatchNorm(use_running_average=not train)(v)
        return nn.Dropout(0.5, deterministic=not train)(v)

model = Net()
variables = model.init(jax.random.key(0), data, train=False)

def train(variables, v, key):
    return model.apply(variables, v, train=True, mutable=["batch_stats"], rngs={"dropout": key})

y, changed = train(variables, data, jax.random.key(1))
z = model.apply({**variables, **changed}, data, train=False)
del Net, model

# %% change
data = data + 1
