# A decorator and a decorator factory, defined and used in the cell.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def named(label):
    def wrap(f):
        def inner(*a): return f(*a)
        inner.label = label
        return inner
    return wrap

@named("double")
def f(v): return v * 2

y = f(x)
label = f.label

# %% change
x = x + 1
