# A traced value put into a queue.
# expect: refused "in place"

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
import queue
q = queue.Queue()

# %% cell
q.put(x * 2)

# %% change
x = x + 1

# %% after
left = q.qsize()
z = x + 1
