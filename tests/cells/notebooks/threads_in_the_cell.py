# A thread pool of the cell maps a function of known values.

# %% setup
import concurrent.futures as cf
import jax.numpy as jnp
x = jnp.ones(2)
def work(k):
    return k * k

# %% cell
with cf.ThreadPoolExecutor(2) as pool:
    squares = list(pool.map(work, range(5)))
del pool
y = x * sum(squares)

# %% change
x = x + 1
