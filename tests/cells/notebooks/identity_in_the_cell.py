# `is`, `in` and aliases of inputs agree with plain Python.

# %% setup
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
y = x
a = np.ones(2, np.float32)
b = a
pair = [x, a]

# %% cell
same = x is y, a is b, pair[0] is x, pair[1] is a, x is not None
z = x
kept = [v is x for v in (x, y, z, x + 0)]
found = any(v is a for v in pair)

# %% change
y = x + 1
