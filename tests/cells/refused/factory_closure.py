# A function made by a factory closes over a traced value.
# expect: refused "trac"
# line: 2

# %% setup
import jax.numpy as jnp

def make(w):
    return lambda v: v * w

x = jnp.arange(3.0)

# %% cell
f = make(x * 2)

# %% after
z = x + 1
