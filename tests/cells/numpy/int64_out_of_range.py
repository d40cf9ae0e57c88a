# An int64 value that does not fit JAX's int32 is never cut off in silence.
# expect: same or refused "x64|int32|int64"
# may differ: y numpy-becomes-array

# %% setup
import numpy as np
a = np.array([2**40, 1])

# %% cell
y = a + 1

# %% after
z = a - 1
