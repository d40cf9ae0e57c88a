# A function that enables 64-bit types for its own code computes with the 64 bits of its argument.
# expect: same or refused "64-bit types"

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
a = np.linspace(0.0, 1.0, 4)

# %% cell
def double(v):
    with jax.enable_x64(True):
        return jnp.asarray(v) * 2
y = double(a)

# %% change
a = a + 1

# %% after
wide = y.dtype == np.float64
