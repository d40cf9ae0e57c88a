# `+=` on a NumPy input: a new array under the name, or refused.
# expect: same or refused "in place"
# may differ: a numpy-becomes-array

# %% setup
import numpy as np
a = np.arange(3.0, dtype=np.float32)

# %% cell
a += 1

# %% after
z = a * 2
# may be an array or a NumPy array; either way its values are compared
z = [float(v) for v in z]
