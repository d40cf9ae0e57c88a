# Epochs, batches, shuffling by a key, and validation, without a library.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
data = jnp.arange(24.0).reshape(8, 3) / 24
target = data.sum(1)

# %% cell
def predict(p, v): return v @ p["w"] + p["b"]
def mse(p, v, t): return ((predict(p, v) - t) ** 2).mean()
def update(p, v, t, rate=0.1):
    g = jax.grad(mse)(p, v, t)
    return jax.tree.map(lambda a, b: a - rate * b, p, g)

p = {"w": jnp.zeros(3), "b": jnp.zeros(())}
key, history = jax.random.key(0), []
for epoch in range(2):
    key, sub = jax.random.split(key)
    order = jax.random.permutation(sub, 8)
    for start in range(0, 8, 4):
        batch = order[start : start + 4]
        p = update(p, data[batch], target[batch])
    history.append(round(float(mse(p, data, target)), 5))
improved = history[-1] < history[0]

# %% change
data = data * 2
