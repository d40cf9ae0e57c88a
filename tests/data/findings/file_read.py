# Reading a file while tracing is how configurations come in.
# silent: trace_time_side_effect

# %% setup
import os, jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
def f(x):
    with open(os.devnull) as file:
        k = len(file.read())
    return x * k

y = f(x)
