# Imports of every form bind their names.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
import math
import os.path
import collections.abc as abc
from functools import reduce as fold, partial
y = fold(jnp.add, [x, x * 2, x * math.sqrt(4.0)])

# %% change
x = x + 1
