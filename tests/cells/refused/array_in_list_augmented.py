# A loop variable that is changed by an operator changes the NumPy array in the list.
# expect: refused "changes the NumPy array `layers\[0\]` in place"
# line: 3

# %% setup
import numpy as np
layers = [np.ones(2, "f"), np.zeros(2, "f")]

# %% cell
for layer in layers:
    layer -= 0.25
