# A trailing semicolon silences here too.

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
def f(v):
    return v * 2

f(x);

# %% change
x = x + 1
