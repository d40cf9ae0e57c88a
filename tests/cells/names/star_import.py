# A star import binds names that the text does not show.
# compiles: 1 0

# %% setup
import sys, types
import jax.numpy as jnp
module = types.ModuleType("cells_star_module")
module.factor = 3
module.double = lambda v: v * 2
sys.modules["cells_star_module"] = module
x = jnp.arange(3.0)

# %% cell
from cells_star_module import *
y = double(x) * factor

# %% change
x = x + 1

# %% after
z = double(y)
