# What is computed from a NumPy array is a JAX array of JAX's dtype; the input stays what it is.
# differs: y numpy-becomes-array
# compiles: 1 0

# %% setup
import numpy as np
a = np.linspace(0.0, 1.0, 4)

# %% cell
y = a * 2 + a.mean()

# %% change
a = a + 1
