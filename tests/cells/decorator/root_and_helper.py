# Only the function that no other calls is jitted; its helper stays a plain function.
# differs: outer entry-point-becomes-jitted

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
def inner(v):
    return v * 2

def outer(v):
    return inner(v) + 1

y = outer(x)

# %% change
x = x + 1

# %% after
z = inner(3)
