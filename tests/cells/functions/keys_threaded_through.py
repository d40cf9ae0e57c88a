# Random keys split inside and outside of functions.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
key = jax.random.key(0)

# %% cell
def noise(key, v):
    key, sub = jax.random.split(key)
    return key, v + jax.random.normal(sub, v.shape)

rows = []
for _ in range(3):
    key, y = noise(key, x)
    rows.append(y)
flips = jax.random.bernoulli(key, 0.5, (4,))

# %% change
x = x + 1
