# .item(), float() and int() of a traced value in a function.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def f(v): return v.sum().item()
def g(v): return float(v[0]) + int(v[1])
def h(v): return [float(e) for e in v]

rows = [f(x), g(x), h(x)]

# %% change
x = x + 1
