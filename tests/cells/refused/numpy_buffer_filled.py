# A traced value written into a NumPy array of the cell.
# expect: refused "Tracer|trac|sequence"
# line: 3

# %% setup
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
buffer = np.zeros(3)
buffer[0] = x[0]

# %% after
z = x + 1
