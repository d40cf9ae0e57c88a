# An Optax training loop over a dictionary of parameters.
# needs: optax
# compiles: 1 0

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
import optax
params = {'w': x + 1, 'b': jnp.zeros(3)}
optimizer = optax.adam(0.1)
state = optimizer.init(params)

# %% cell
def loss(p, v): return ((p["w"] * v + p["b"]) ** 2).sum()

def step(p, state, v):
    g = jax.grad(loss)(p, v)
    updates, state = optimizer.update(g, state)
    return optax.apply_updates(p, updates), state

for i in range(3):
    params, state = step(params, state, x)

# %% change
x = x + 1
