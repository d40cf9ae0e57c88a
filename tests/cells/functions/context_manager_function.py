# A context manager made by contextlib, around calls.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
import contextlib

events = []
@contextlib.contextmanager
def scope(name):
    events.append("in " + name)
    yield name
    events.append("out " + name)

def f(v): return v * 2

with scope("a") as name:
    y = f(x)

# %% change
x = x + 1
