# Imports of every form in the cell, aliased, from a package and of a name that is shadowed.

# %% setup
import jax.numpy as jnp
x = jnp.linspace(0, 1, 5)

# %% cell
import collections as c, os.path
from math import pi as π, sqrt
import jax
from jax import lax, nn as activations
from functools import reduce
y = activations.relu(jnp.sin(π * x)) * sqrt(4)
z = reduce(lax.add, [y, y, x])
count = c.Counter("banana")
joined = os.path.join("a", "b")

# %% change
x = x * 2
