# A global that shadows a builtin is the one that is called; deleting it brings the builtin back.

# %% setup
import jax.numpy as jnp
x = jnp.arange(4.0)

def sum(v):
    return v.mean()

# %% cell
y = sum(x)

# %% change
del sum
