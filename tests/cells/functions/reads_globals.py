# A function that reads globals of other cells, changed between the runs.

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
k = jnp.asarray(2.0)

# %% cell
def f(v):
    return v * k

y = f(x)

# %% change
k = jnp.asarray(5.0)
