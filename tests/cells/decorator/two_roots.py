# Two functions that do not know each other are both jitted.
# differs: f entry-point-becomes-jitted
# differs: g entry-point-becomes-jitted

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
