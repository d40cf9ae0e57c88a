# Another name for a NumPy input is that array: a change made later through one is seen by the other.

# %% setup
import jax.numpy as jnp
import numpy as np
a = np.arange(3.0, dtype=np.float32)
x = jnp.ones(3)

# %% cell
b = a
y = x + a

# %% change
a[0] = 50

# %% after
a[1] = 60
seen = [float(v) for v in b]
