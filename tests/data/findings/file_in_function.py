# A jitted function that writes a file writes it once.
# fires: trace_time_side_effect line 3

# %% setup
import os, jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell --decorate
def f(x):
    with open(os.devnull, "w") as file:
        file.write(str(x.shape))
    return x * 2

y = f(x)
