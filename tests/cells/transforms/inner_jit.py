# A jitted helper with static arguments, called from the cell.
# compiles: 1 1

# %% setup
from functools import partial
import jax
import jax.numpy as jnp

@partial(jax.jit, static_argnames="n")
def power(v, n):
    return v ** n

x = jnp.arange(3.0)
n = 2

# %% cell
y = power(x, n) + power(x, 3)
z = jax.jit(lambda v: v + 1)(y)

# %% change
n = 4
