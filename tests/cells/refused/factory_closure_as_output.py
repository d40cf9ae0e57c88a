# The same as the last expression.
# expect: refused "trac"

# %% setup
import jax.numpy as jnp

def make(w):
    return lambda v: v * w

x = jnp.arange(3.0)

# %% cell
make(x * 2)

# %% after
z = x + 1
