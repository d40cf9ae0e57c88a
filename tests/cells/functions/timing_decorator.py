# A decorator of the user's with functools.wraps.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
import functools

calls = []
def logged(fn):
    @functools.wraps(fn)
    def inner(*args):
        calls.append(fn.__name__)
        return fn(*args)
    return inner

@logged
def f(v): return v * 2

rows = [f(x), f(x + 1)]
del f

# %% change
x = x + 1
