# NumPy functions that only call the array's own method work on traced arrays.
# differs: s numpy-becomes-array
# differs: m numpy-becomes-array
# differs: t numpy-becomes-array
# compiles: 1 0

# %% setup
import numpy as np
a = np.arange(6.0).reshape(2, 3)

# %% cell
s = np.sum(a)
m = np.mean(a, axis=0)
t = np.transpose(a)

# %% change
a = a * 2
