# A float64 value that does not fit float32 never becomes infinite in silence.
# expect: same or refused "x64|float32|float64"
# may differ: y numpy-becomes-array

# %% setup
import numpy as np
a = np.array([1e300, 1.0])

# %% cell
y = a * 1e-300

# %% after
z = a - 1
