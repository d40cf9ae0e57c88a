# A callback that closes over a list appends to the list of the newest function.

# %% setup
import jax.numpy as jnp
from jax.experimental import io_callback
x = jnp.arange(3.0)

def make(log):
    def f(v):
        io_callback(lambda total: log.append(float(total)), None, v.sum())
        return v * 2
    return f

first = []
f = make(first)

# %% cell
y = f(x)

# %% change
second = []
f = make(second)

# %% after
counts = len(first), len(second)
