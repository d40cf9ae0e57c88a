# A masked array keeps its mask, or the cell is refused.
# may differ: y numpy-becomes-array
# expect: same or refused "mask"

# %% setup
import numpy as np
m = np.ma.masked_array([1.0, 2.0, 300.0], mask=[False, False, True])

# %% cell
y = m.sum() * 2

# %% after
z = m.mean()
