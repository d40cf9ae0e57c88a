# Two functions that do not know each other are both compiled.

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
def f(v):
    return v + 1

def g(v):
    return v * 2

y = g(f(x))

# %% change
x = x + 1
