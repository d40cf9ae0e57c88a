# Walrus, conditional expression, chained comparison, and and or.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def f(v): return v.sum()

if (total := f(x)) > 2:
    y = total
small = f(x) if 0 < f(x) < 3 else f(-x)
both = f(x) > 1 and f(x * 2)
either = f(x * 0) or "nothing"

# %% change
x = x + 1
