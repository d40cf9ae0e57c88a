# `+=` on a NumPy input changes the array that others hold too: refused, or the same.
# expect: same or refused "in place"

# %% setup
import numpy as np
a = np.arange(3.0, dtype=np.float32)
holder = {"weights": a}

# %% cell
a += 1
y = "done"

# %% after
z = [float(v) for v in holder["weights"]]
