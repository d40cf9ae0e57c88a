# A coroutine function is left alone.

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
async def load():
    return 3

y = x * 2

# %% change
x = x + 1

# %% after
z = x + 1
