# Keyword-only, positional-only and default arguments.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def f(a, /, b=2.0, *, c, d=None): return a * b + c if d is None else a - d

rows = [f(x, c=1.0), f(x, 3.0, c=x), f(x, c=0.0, d=x)]

# %% change
x = x + 1
