# `np.matrix` multiplies as a matrix: its own rules hold, or the cell is refused.
# may differ: y numpy-becomes-array
# expect: same or refused "matrix"

# %% setup
import numpy as np
m = np.matrix([[1.0, 2.0], [3.0, 4.0]])

# %% cell
y = m * m

# %% after
z = m + 1
