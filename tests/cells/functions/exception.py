# An exception in the code around a function.
# expect: fails ValueError "stop here"

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
def f(v):
    return v * 2

y = f(x)
raise ValueError("stop here")

# %% after
z = x + 1
