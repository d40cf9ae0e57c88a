# The second definition of a name counts.

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
def f(v):
    return v * 2

def f(v):
    return v * 3

y = f(x)

# %% change
x = x + 1
