# A function that uses the text of a float.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def f(v, lr):
    return v * len(str(lr))

y = f(x, 0.5)

# %% change
x = x + 1
