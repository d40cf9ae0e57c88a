# A result that is put into a queue too.
# expect: refused "in place"

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
import queue
q = queue.Queue()

# %% cell
y = x * 2
q.put(y)

# %% change
x = x + 1

# %% after
left = q.qsize()
z = x + 1
