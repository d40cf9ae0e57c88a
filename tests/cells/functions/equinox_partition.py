# Equinox: partition, a plain jax.grad, combine.
# needs: equinox

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
import equinox as eqx
model = eqx.nn.MLP(3, 1, 4, 1, key=jax.random.key(0))

# %% cell
params, static = eqx.partition(model, eqx.is_inexact_array)

def loss(params, v): return (eqx.combine(params, static)(v) ** 2).sum()

g = jax.grad(loss)(params, x)
bias = g.layers[0].bias
value = round(float(loss(params, x)), 5)
del params, static, g

# %% change
x = x + 1
