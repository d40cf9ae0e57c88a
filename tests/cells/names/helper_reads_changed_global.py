# A helper's globals are read afresh on every run, never from a program cached by its inputs.

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
k = jnp.asarray(2.0)
mode = "plus"

def helper(v):
    return v + k if mode == "plus" else v - k

# %% cell
y = helper(x)

# %% change
k = jnp.asarray(7.0)
mode = "minus"
