# A donated array that is a leaf of a container too.
# expect: refused "would delete `tree` too"

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
tree = {"w": x}

# %% cell -d x
x = x * 2

# %% after
z = tree['w'] + x
