# A cell that asks for a NumPy input's dtype sees JAX's.
# differs: kind numpy-becomes-array
# differs: y numpy-becomes-array
# compiles: 1 0

# %% setup
import numpy as np
a = np.arange(3.0)

# %% cell
kind = a.dtype
y = a + 1

# %% change
a = a * 2
