# A generator of batches that the loop consumes.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def batches(data, size):
    for start in range(0, len(data), size):
        yield data[start : start + size]

def mean(v): return v.mean()

data = jnp.arange(8.0) + x[0]
rows = [mean(batch) for batch in batches(data, 3)]
first = next(iter(batches(data, 2)))

# %% change
x = x + 1
