# A function that keeps results in a table.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
table = {}
def f(n):
    if n not in table:
        table[n] = x * n
    return table[n]

y, z = f(2), f(2)
same = y is z

# %% change
x = x + 1
