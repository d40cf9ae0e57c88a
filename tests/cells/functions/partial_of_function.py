# functools.partial of a function of the cell, positional and by keyword.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
import functools

def f(a, b, c=1.0): return a * b + c

g = functools.partial(f, 2.0)
h = functools.partial(f, c=x)
rows = [g(x), g(b=x, c=3.0), h(x, x)]
del g, h

# %% change
x = x + 1
