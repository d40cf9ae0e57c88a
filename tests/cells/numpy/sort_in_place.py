# `a.sort()` sorts a NumPy array in place, and a JAX array not at all: never in silence.
# expect: refused "in place"

# %% setup
import numpy as np
a = np.array([3.0, 1.0, 2.0], np.float32)

# %% cell
a.sort()
smallest = a[0]

# %% after
z = a * 2
