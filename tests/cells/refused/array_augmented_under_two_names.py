# The cell gives a NumPy array a second name, and changes it by an operator.
# expect: refused "changes the NumPy array `w` in place"
# line: 3

# %% setup
import numpy as np
w, g = np.ones(3, "f"), np.ones(3, "f")

# %% cell
other = w
w += g
