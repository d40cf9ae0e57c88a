# Functions that write into NumPy arrays, lists, dictionaries and objects.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
import types

# %% cell
def fill(a, v): a[0] = v; return a
def push(l, v): l.append(v * 2); return len(l)
def put(d, k, v): d[k] = v
def mark(o, v): o.last = v; return o

array, rows, table, thing = np.zeros(3), [], {}, types.SimpleNamespace()
fill(array, 7.0)
n = [push(rows, x), push(rows, x + 1)]
put(table, "a", x)
last = mark(thing, x).last

# %% change
x = x + 1
