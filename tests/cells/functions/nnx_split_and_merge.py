# Flax NNX's functional form: split, a pure function, merge.
# needs: flax

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
from flax import nnx
model = nnx.Linear(3, 2, rngs=nnx.Rngs(0))

# %% cell
graph, state = nnx.split(model)

def loss(state, v):
    m = nnx.merge(graph, state)
    return (m(v) ** 2).sum()

g = jax.grad(loss)(state, x)
kernel = g["kernel"][...]
value = float(loss(state, x))
del graph, state, g

# %% change
x = x + 1
