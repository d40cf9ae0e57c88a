# Calls handed to a thread pool.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
from concurrent.futures import ThreadPoolExecutor

def f(v): return v * 2

with ThreadPoolExecutor(2) as pool:
    rows = list(pool.map(f, [x, x + 1, x + 2]))
    future = pool.submit(f, x)
y = future.result()
del pool, future

# %% change
x = x + 1
