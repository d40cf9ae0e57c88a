# A function that returns its own arguments and containers.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
table = {'b': x, 'a': x + 1}

# %% cell
def f(d, v): return d, v, {"again": d}, [v]

a, b, c, e = f(table, x)
same = a is table, b is x, c["again"] is table

# %% change
x = x + 1
