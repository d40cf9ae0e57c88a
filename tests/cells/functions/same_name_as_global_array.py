# A parameter, a local and a comprehension variable named like a global.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
w = x * 10

# %% cell
def f(w): return w + 1
def g(v):
    w = v * 2
    return w
def h(v): return sum([w * 1 for w in (v, v)])

rows = [f(x), g(x), h(x), w]

# %% change
w = w + 1
