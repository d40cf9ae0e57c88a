# Several statements and definitions on one line.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def f(v): return v * 2
a = f(x); b = f(a); c = (f(x), f(b))
if True: d = f(c[0])

# %% change
x = x + 1
