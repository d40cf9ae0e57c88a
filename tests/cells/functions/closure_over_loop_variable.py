# Closures over a loop variable see its last value.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
fs = []
for k in range(3):
    def f(v): return v * k
    fs.append(f)

rows = [g(x) for g in fs]
k = 10
late = fs[0](x)
del fs, f

# %% change
x = x + 1
