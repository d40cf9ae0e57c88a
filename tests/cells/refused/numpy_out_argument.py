# A NumPy input as the `out` of a NumPy function.
# expect: refused "."

# %% setup
import numpy as np
a = np.arange(3.0, dtype=np.float32)

# %% cell
np.add(a, 1, out=a)

# %% after
z = a + 1
