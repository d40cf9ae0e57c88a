# An element of a NumPy input assigned.
# expect: refused "JAX arrays are immutable: write"
# line: 2

# %% setup
import numpy as np
a = np.arange(3.0, dtype=np.float32)

# %% cell
a[0] = 10.0
y = a * 2

# %% after
z = a + 1
