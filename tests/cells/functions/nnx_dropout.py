# Dropout draws from its own stream, call after call.
# needs: flax

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
from flax import nnx
drop = nnx.Dropout(0.5, rngs=nnx.Rngs(0))
data = jnp.ones(8)

# %% cell
def noisy(layer, v):
    return layer(v)

a = noisy(drop, data)
b = noisy(drop, data)
count = drop.rngs.count[...]

# %% after
c = drop(data)
