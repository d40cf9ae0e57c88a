# global and nonlocal counters count each call once.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
count = 0

# %% cell
def f(v):
    global count
    count += 1
    return v * 2

def outer(v):
    n = 0
    def inner(w):
        nonlocal n
        n += 1
        return w + n
    return inner(v) + inner(v)

rows = [f(x), f(x), outer(x)]

# %% change
x = x + 1
