# A trailing semicolon silences here too.
# differs: f entry-point-becomes-jitted

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
def f(v):
    return v * 2

f(x);

# %% change
x = x + 1
