# Names deleted between calls.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def f(v): return v + 1

y = f(x)
z = f(y)
del y
def g(v): return v
w = g(f(z))
del g

# %% change
x = x + 1
