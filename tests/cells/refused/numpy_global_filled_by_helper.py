# A helper that writes into a NumPy array of another cell.
# expect: refused "."

# %% setup
import jax.numpy as jnp
import numpy as np
log = np.zeros(3)

def record(v):
    log[0] = v
    return v * 2

x = jnp.asarray(3.0)

# %% cell
y = record(x)

# %% after
z = log.sum()
