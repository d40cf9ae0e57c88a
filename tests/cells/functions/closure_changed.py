# A closure whose variable changes between two calls.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def make():
    n = 1
    def get(v): return v * n
    def put(k):
        nonlocal n
        n = k
    return get, put

get, put = make()
a = get(x)
put(5)
b = get(x)

# %% change
x = x + 1
