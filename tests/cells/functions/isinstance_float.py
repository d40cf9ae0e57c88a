# A function that asks for the type of a float.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def f(v, lr):
    return v * (2 if isinstance(lr, float) else 3)

y = f(x, 0.5)

# %% change
x = x + 1
