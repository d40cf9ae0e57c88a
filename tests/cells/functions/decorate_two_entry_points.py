# `--decorate` jits every function that no other function of the cell calls.
# differs: f entry-point-becomes-jitted
# differs: g entry-point-becomes-jitted

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell --decorate
def helper(v):
    return v + 1

def f(v):
    return helper(v) * 2

def g(v):
    return helper(v) * 3

y, z = f(x), g(x)

# %% change
x = x + 1
