# A traced value put on an object with slots.
# expect: refused "in place"

# %% setup
import jax.numpy as jnp

class Point:
    __slots__ = ("v",)

p = Point()
p.v = jnp.arange(3.0)

# %% cell
p.v = p.v * 2

# %% after
z = p.v + 1
