# Haiku: hk.transform of a function of the cell.
# needs: haiku

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
import haiku as hk
data = jnp.stack([x, x + 1])

# %% cell
def net(v): return hk.Sequential([hk.Linear(4), jax.nn.relu, hk.Linear(1)])(v)

model = hk.without_apply_rng(hk.transform(net))
params = model.init(jax.random.PRNGKey(0), data)
def loss(params, v): return (model.apply(params, v) ** 2).mean()
y = model.apply(params, data)
g = jax.grad(loss)(params, data)
del model

# %% change
data = data * 2
