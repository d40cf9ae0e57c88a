# A function that prints a traced value runs as plain Python.

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
def f(v):
    print("inside", v)
    return v * 2

y = f(x)

# %% change
x = x + 1
