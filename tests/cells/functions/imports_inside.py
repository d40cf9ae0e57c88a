# Imports inside functions and between them.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def f(v):
    import math
    from jax import nn
    return nn.relu(v) * math.pi

import math as m

def g(v): return v * m.e

rows = [f(x), g(x)]
del m

# %% change
x = x + 1
