# Static arguments of an existing jit keep their meaning.

# %% setup
from functools import partial
import jax
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
@partial(jax.jit, static_argnames=("n",))
def power(v, n=2):
    return v if n == 1 else v * power(v, n=n - 1)

y = power(x, n=3)
z = power(x)

# %% change
x = x + 1
