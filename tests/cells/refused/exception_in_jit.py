# An exception inside a jitted helper.
# expect: raises ValueError "inside"

# %% setup
import jax
import jax.numpy as jnp
x = jnp.arange(3.0)

@jax.jit
def bad(v):
    raise ValueError("inside")

# %% cell
y = x * 2
z = bad(y)

# %% after
z = x + 1
