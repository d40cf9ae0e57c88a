# Attributes on functions, read and written.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def f(v):
    f.calls += 1
    return v * f.scale

f.calls, f.scale = 0, 2.0
a = f(x)
f.scale = 3.0
b = f(x)
calls = f.calls
del f

# %% change
x = x + 1
