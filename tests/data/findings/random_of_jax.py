# jax.random with a key is pure.
# silent: trace_time_side_effect

# %% setup
import jax, jax.numpy as jnp
from jax import random
x = jnp.arange(3.0)
key = random.key(0)

# %% cell
def f(key, x):
    return x + random.normal(key, x.shape)

y = f(key, x)
