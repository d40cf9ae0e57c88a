# Functions that are handed to map, filter, sorted, max and reduce.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
import functools

def double(v): return v * 2
def size(v): return float(v.sum())
def add(a, b): return a + b

rows = list(map(double, [x, x + 1]))
kept = list(filter(lambda v: size(v) > 4, rows))
ordered = sorted([x, -x, x * 2], key=size)
top = max([x, x + 5], key=size)
total = functools.reduce(add, [x, x, x])

# %% change
x = x + 1
