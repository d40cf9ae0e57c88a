# A donated array that an object of the user's holds in an attribute.
# expect: refused "would delete `thing` too"

# %% setup
import jax.numpy as jnp
class Thing:
    pass

x, thing = jnp.arange(3.0), Thing()
thing.parts = [x]

# %% cell -d x
x = x * 2

# %% after
z = thing.parts[0] + x
