# A class registered as a pytree with auxiliary data.
# compiles: 1 0

# %% setup
import jax
import jax.numpy as jnp

class Vector:
    def __init__(self, x, y, unit):
        self.x, self.y, self.unit = x, y, unit

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y, self.unit)

jax.tree_util.register_pytree_node(
    Vector, lambda v: ((v.x, v.y), v.unit), lambda unit, xy: Vector(*xy, unit))
v = Vector(jnp.arange(3.0), jnp.ones(3), "m")

# %% cell
w = v + v
same = v
total = w.x.sum()

# %% change
v = Vector(jnp.ones(3), jnp.ones(3), "m")
