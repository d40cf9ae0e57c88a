# A helper of an earlier cell that changes its NumPy argument by an operator.
# expect: refused "changes the NumPy array `buffer` in place"

# %% setup
import numpy as np
buffer, g = np.zeros(3, "f"), np.ones(3, "f")
def momentum(v, g):
    v *= 0.5
    v += g
    return v

# %% cell
out = momentum(buffer, g)
