# A function with functions inside, one of them recursive.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def f(v):
    def g(w, depth): return w if depth == 0 else g(w * 2, depth - 1)
    def h(w): return g(w, 2) + v
    return h(v)

y = f(x)

# %% change
x = x + 1
