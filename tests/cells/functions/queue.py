# A function that puts its value into a queue runs as plain Python.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
import queue
q = queue.Queue()

# %% cell
def put(v):
    q.put(v * 2)
    return v

y = put(x)
put(x)

# %% change
x = x + 1

# %% after
rows = [q.get() for _ in range(q.qsize())]
