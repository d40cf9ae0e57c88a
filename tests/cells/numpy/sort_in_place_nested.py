# The same for an array inside a dictionary.
# expect: refused "in place"

# %% setup
import numpy as np
d = {"a": np.array([3.0, 1.0, 2.0], np.float32)}

# %% cell
d["a"].sort()
smallest = d["a"][0]

# %% after
z = d["a"] * 2
