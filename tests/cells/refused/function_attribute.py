# A traced value put on a function.
# expect: refused "in place|trac"

# %% setup
import jax.numpy as jnp

def f(v):
    return v * 2

f.last = None
x = jnp.arange(3.0)

# %% cell
f.last = f(x)

# %% after
z = f.last
