# A cell that enables 64-bit types for its own code computes with the 64 bits of its inputs.
# expect: same or refused "64-bit types"

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
a, rate = np.linspace(0.0, 1.0, 4), 0.1

# %% cell
with jax.enable_x64(True):
    y = jnp.asarray(a) * 2
    s = jnp.ones(2) * rate

# %% change
a = a + 1

# %% after
wide = y.dtype == np.float64
